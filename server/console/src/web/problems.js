// The problems of the game's files, over the world, for those who change the game while it runs.

const PERIOD_MS = 500;
const STYLE = "position:fixed;left:50%;top:12px;transform:translateX(-50%);max-width:min(900px,94vw);max-height:70vh;"
  + "overflow:auto;z-index:9;padding:12px 16px;border:1px solid #ff8a7a;border-radius:12px;background:#1c1014f2;"
  + "color:#f2f5fb;font:13px/1.45 ui-monospace,monospace;white-space:pre;user-select:text;-webkit-user-select:text";

const box = document.createElement("pre");
box.id = "problems";
box.style.cssText = STYLE;
box.setAttribute("role", "alert");
box.hidden = true;
document.body.append(box);

async function look() {
  try {
    const answer = await fetch("problems.json", { cache: "no-store" });
    const text = (await answer.json()).join("\n\n");
    if (box.textContent !== text) box.textContent = text;
    box.hidden = text === "";
  } catch {
    // The server is not there: the page says so itself.
  }
  setTimeout(look, PERIOD_MS);
}

look();
