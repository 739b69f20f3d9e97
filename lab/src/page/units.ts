// Quantities as people read them: three significant digits, and a unit as the scenario language writes it.

export function formatTime(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size >= 1) return `${digits(seconds)} s`;
  if (size >= 1e-3) return `${digits(seconds * 1e3)} ms`;
  if (size >= 1e-6) return `${digits(seconds * 1e6)} us`;
  return `${digits(seconds * 1e9)} ns`;
}

/** How long somebody waits: no fractions, and units of the day. */
export function formatWait(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${formatCount(seconds / 86_400)} days`;
}

export function formatBytes(bytes: number): string {
  return scaled(bytes, ["B", "KB", "MB", "GB", "TB"]);
}

export function formatRate(bitPerSecond: number): string {
  return scaled(bitPerSecond, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
}

export function formatCount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** Three digits where they matter: a mean queue of 0.4 packets is not 0. */
export function formatNumber(value: number): string {
  return Math.abs(value) < 100 ? digits(value) : formatCount(value);
}

export function formatPercent(part: number): string {
  return `${digits(part * 100)} %`;
}

/** "1 packet", "2 packets". */
export function counted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function scaled(value: number, units: string[]): string {
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= 999.5 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${digits(rest)} ${units[unit] ?? ""}`;
}

function digits(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US", {
    maximumFractionDigits: 9,
    useGrouping: false,
  });
}

/** A time with fixed decimals, for a clock that runs: the width stays the same. */
export function clock(seconds: number, whole_s: number): string {
  // Before the run of a link begins, its instant is known and its duration is not.
  const longest_s = Math.max(whole_s, seconds);
  const [factor, unit] = longest_s >= 1 ? [1, "s"] : longest_s >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  const whole = longest_s * factor;
  const decimals = whole >= 100 ? 1 : whole >= 10 ? 2 : 3;
  return `${(seconds * factor).toFixed(decimals)} ${unit}`;
}
