// Storage of the browser: between visits, and in a tab over a reload. A page without storage (private windows, frames)
// works without: the access itself fails there.

const PREFIX = "incastle-lab-";

type Place = () => Storage;
const visits: Place = () => localStorage;
const tab: Place = () => sessionStorage;

export function stored(name: string): string | null {
  return read(visits, name);
}

export function store(name: string, value: string): void {
  write(visits, name, value);
}

/** The value that this tab stored before it was reloaded; null in a tab that was opened in another way. */
export function beforeReload(name: string): string | null {
  const [entry] = performance.getEntriesByType("navigation");
  if ((entry as PerformanceNavigationTiming | undefined)?.type !== "reload") return null;
  return read(tab, name);
}

export function storeForReload(name: string, value: string): void {
  write(tab, name, value);
}

function read(place: Place, name: string): string | null {
  try {
    return place().getItem(PREFIX + name);
  } catch {
    return null;
  }
}

function write(place: Place, name: string, value: string): void {
  try {
    place().setItem(PREFIX + name, value);
  } catch {
    // Nothing is lost but the memory of this visit.
  }
}
