// The menu that saves something of the page in one of several formats.
import { notice } from "../state/lab";

export interface SaveMenuProps<Format extends string> {
  label: string;
  formats: readonly Format[];
  save: (format: Format) => Promise<void>;
}

export function SaveMenu<Format extends string>({ label, formats, save }: SaveMenuProps<Format>) {
  return (
    <select
      class="save"
      aria-label={label}
      value=""
      onChange={(event) => {
        const format = formats.find((one) => one === event.currentTarget.value);
        event.currentTarget.value = "";
        if (format === undefined) return;
        save(format).catch((error: unknown) => (notice.value = `Nothing was saved: ${String(error)}`));
      }}
    >
      <option value="">Save…</option>
      {formats.map((format) => (
        <option key={format}>{format}</option>
      ))}
    </select>
  );
}
