"use strict";
// Browsers refuse workers to pages opened from a folder. The search of the site then runs in a hidden frame instead.

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = Object.assign(document.createElement("iframe"), { hidden: true, srcdoc: `<script src="${url}"></script>` });
    this.scope = new Promise((ready) => frame.addEventListener("load", () => ready(frame.contentWindow)));
    this.scope.then((scope) => {
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    });
    document.body.append(frame);
  }

  postMessage(data) {
    this.scope.then((scope) => scope.dispatchEvent(new scope.MessageEvent("message", { data })));
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
