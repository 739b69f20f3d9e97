// What the browser keeps between visits, and in a tab over a reload. A page without storage (private windows, frames) works
// without.

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

/** What this tab stored before it was reloaded; nothing in a tab that was opened in another way. */
export function beforeReload(name: string): string | null {
  const [entry] = performance.getEntriesByType("navigation");
  if ((entry as PerformanceNavigationTiming | undefined)?.type !== "reload") return null;
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function storeForReload(name: string, value: string): void {
  try {
    sessionStorage.setItem(PREFIX + name, value);
  } catch {
    // The address has what had settled.
  }
}
