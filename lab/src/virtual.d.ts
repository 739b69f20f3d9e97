// Modules that the build makes.
declare module "virtual:engine" {
  /** The engine's WebAssembly: deflated, then base64. */
  const packed: string;
  export default packed;
}
