// Browsers refuse workers to pages that are opened as files. There the search's worker gets a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.document.createElement("script")
      script.src = url
      const loaded = new Promise(done => script.addEventListener("load", done))
      inside.document.body.append(script)
      this.postMessage = data => loaded.then(() =>
        inside.dispatchEvent(new MessageEvent("message", { data })))
      this.terminate = () => frame.remove()
    }
    set onmessage(handler) {
      this.addEventListener("message", handler)
    }
  }
}
