// Files that the page gives away.

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  // The browser reads the blob after the click.
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 10_000);
}

export function textFile(content: string, type: string): Blob {
  return new Blob([content], { type: `${type};charset=utf-8` });
}
