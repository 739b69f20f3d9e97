// Calls back in the next frame whenever an element has a new size. A change within the observer's own round would be
// reported as an error by the browser.

export function followSize(element: Element, resized: () => void): () => void {
  let frame = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(resized);
  });
  observer.observe(element);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
  };
}
