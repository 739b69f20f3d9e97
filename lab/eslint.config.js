import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/engine"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "max-lines": ["error", { max: 400 }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
      "max-params": ["error", 5],
      // Columns are ArrayLike, which for-of cannot read.
      "@typescript-eslint/prefer-for-of": "off",
      // Reading a signal subscribes to it.
      "@typescript-eslint/no-meaningless-void-operator": "off",
      // Numbers in text need no String().
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Preact's event handlers are properties of props, and call nothing on `this`.
      "@typescript-eslint/unbound-method": ["error", { ignoreStatic: true }],
    },
  },
  // A suite of tests is one function.
  {
    files: ["**/*.test.ts"],
    rules: { "max-lines-per-function": "off", "@typescript-eslint/no-implied-eval": "off" },
  },
);
