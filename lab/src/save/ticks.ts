// Round numbers along an axis.

export function ticks(from: number, to: number, most = 6): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const list: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-9); i += 1) list.push(i * step);
  return list;
}

/** Powers of ten within a range, for a logarithmic axis. */
export function decades(from: number, to: number): number[] {
  const list: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1)
    list.push(10 ** power);
  return list;
}

/** Digits of labels within a power of ten, the densest first. */
const DIGITS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]];

/** Round numbers along a logarithmic axis, as many as there is room for, and two at least. */
export function logarithmicTicks(from: number, to: number, most = 6): number[] {
  const powers = decades(from, to);
  const within = (value: number): boolean => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9);
  const lists = DIGITS.map((digits) =>
    powers.flatMap((power) => digits.map((digit) => digit * power)).filter(within),
  );
  const fitting = lists.find((list) => list.length <= most);
  if (fitting && fitting.length > 1) return fitting;
  // Less than a step of the densest list: the axis is nearly linear there.
  if ((lists[0]?.length ?? 0) < 2) return ticks(from, to, most);
  const tens = lists.at(-1) ?? [];
  return tens.filter((_, i) => i % Math.ceil(tens.length / Math.max(1, most)) === 0);
}
