// What the browser keeps between visits. A page without storage (private windows, frames) works without.

const PREFIX = "incastle-lab-";

export function stored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Nothing is lost but the memory of this visit.
  }
}
