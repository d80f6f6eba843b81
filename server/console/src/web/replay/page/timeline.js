// Where in the recording the page is, and how it goes on.

const byId = (id) => document.getElementById(id);

export class Timeline {
  constructor(world) {
    this.tickHz = world.tick_hz;
    this.tick = world.progress.first;
    this.speed = 1;
    this.playing = false;
    this.take(world.progress);
    byId("scrub").addEventListener("input", () => this.go(Number(byId("scrub").value)));
    byId("tick").addEventListener("change", () => this.go(Number(byId("tick").value)));
    byId("play").addEventListener("click", () => this.play(!this.playing));
    const buttons = { "to-start": () => this.progress.first, back: () => this.tick - 1, forward: () => this.tick + 1, "to-end": () => this.last };
    for (const [id, tick] of Object.entries(buttons)) byId(id).addEventListener("click", () => this.go(tick()));
    for (const button of byId("speeds").children) {
      button.addEventListener("click", () => this.setSpeed(Number(button.dataset.speed)));
    }
    addEventListener("keydown", (event) => this.key(event));
    this.setSpeed(1);
    this.show();
  }

  /// Shows how far the recording is known.
  take(progress) {
    this.progress = progress;
    this.last = progress.is_done ? progress.ticks : Math.max(progress.reached, progress.first + 1);
    byId("scrub").min = byId("tick").min = progress.first;
    byId("scrub").max = byId("tick").max = progress.ticks;
    const count = progress.ticks - progress.first;
    const percent = (100 * (progress.reached - progress.first)) / Math.max(count, 1);
    byId("reached").style.width = `${percent}%`;
    byId("progress").textContent = progress.is_done ? `${count} ticks, ${this.time(count)}`
      : `${count} ticks, read up to ${Math.floor(percent)} %`;
    const sentences = [progress.ends_early && `It ends early: ${progress.ends_early}`, progress.shelf_problem];
    const text = sentences.filter(Boolean).join(". ");
    byId("ends-early").textContent = text;
    byId("ends-early").hidden = text === "";
  }

  /// Goes to a tick, and stays there.
  go(tick) {
    this.play(false);
    this.set(tick);
  }

  set(tick) {
    const whole = Math.floor(Number.isFinite(tick) ? tick : this.progress.first);
    this.tick = Math.min(Math.max(whole, this.progress.first), this.last);
    this.show();
  }

  play(playing) {
    this.playing = playing;
    this.from = { tick: this.tick, at: performance.now() };
    byId("play").textContent = playing ? "Pause" : "Play";
  }

  setSpeed(speed) {
    this.speed = speed;
    this.play(this.playing);
    for (const button of byId("speeds").children) button.classList.toggle("on", Number(button.dataset.speed) === speed);
  }

  /// The tick to show now.
  now() {
    if (this.playing) {
      const seconds = (performance.now() - this.from.at) / 1000;
      this.set(this.from.tick + seconds * this.tickHz * this.speed);
      if (this.tick >= this.progress.ticks) this.play(false);
    }
    return this.tick;
  }

  key(event) {
    if (event.target.matches("input:not([type=range]), select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { ArrowLeft: () => this.go(this.tick - 1), ArrowRight: () => this.go(this.tick + 1), Home: () => this.go(this.progress.first), End: () => this.go(this.last), " ": () => this.play(!this.playing) };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  show() {
    byId("scrub").value = this.tick;
    if (document.activeElement !== byId("tick")) byId("tick").value = this.tick;
    byId("clock").textContent = this.time(this.tick);
  }

  time(tick) {
    const seconds = tick / this.tickHz;
    const part = (number, digits) => String(Math.floor(number)).padStart(digits, "0");
    const tenths = Math.floor((seconds * 10) % 10);
    return `${part(seconds / 3600, 1)}:${part((seconds / 60) % 60, 2)}:${part(seconds % 60, 2)}.${tenths}`;
  }
}
