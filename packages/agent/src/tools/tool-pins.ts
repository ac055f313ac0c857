// Tool pins of one MCP server: each listing is observed before its tools are called, reported to the hub, and judged by
// the pins in force. One ToolPins may serve many sessions, each with a listing of its own.
import { type Clock, inTime, type Timer } from '../clock.ts';
import type { HttpConnection } from '../http.ts';
import { problemTexts, readToolList, type ToolProblem } from '../rules/tools/definition.ts';
import { type PinMode, type ToolPin, type ToolVerdict, verdictOf } from '../rules/tools/pins.ts';
import { PinFile } from './document.ts';
import {
  type FingerprintedTool,
  fetchPins,
  fingerprint,
  isRouteMissing,
  readListing,
  reportEvery,
  reportKey,
  reportTools,
  type ServerListing,
  type ToolReport,
} from './reporter.ts';

export interface ToolJudgement {
  readonly verdict: ToolVerdict;
  /** For the caller; null if the tool is allowed. */
  readonly reason: string | null;
}

/** The name of refusals in events. */
export const refusalName = 'tool_definition_changed';

export interface ToolPinOptions {
  /** The label of the server. */
  readonly server: string;
  /** Null: no hub. */
  readonly http: HttpConnection | null;
  /** Of the hub, for links; null: no hub. */
  readonly hubUrl: string | null;
  /** Holds without pins of the hub. */
  readonly mode: PinMode;
  /** Decisions that a person keeps without a hub. */
  readonly localPins: readonly ToolPin[];
  /** Keeps the hub's pins; null: for the life of the process. */
  readonly pinFile: string | null;
  readonly clock: Clock;
  /** For people. */
  readonly writeLog: (text: string) => void;
  /** Called when another decision or mode is in force. */
  readonly onChange: () => void;
  /** Called with every listing, for whoever keeps it. */
  readonly onListing?: (tools: readonly FingerprintedTool[]) => void;
}

/** Time that a listing waits for the hub if an undecided tool is refused; milliseconds. */
const patience = 5000;
/** Between looks for pins without a stream; milliseconds. */
const lookEvery = 30_000;

export class ToolPins {
  readonly #options: ToolPinOptions;
  readonly #file: PinFile;
  readonly #closed = new AbortController();
  readonly #announced = new Set<string>();
  #lastReport = { key: '', at: Number.NEGATIVE_INFINITY };
  #looking: Promise<void> | null = null;
  #hasRoutes = true;
  #timer: Timer | null = null;

  constructor(options: ToolPinOptions) {
    this.#options = options;
    this.#file = new PinFile({ env: options.http?.env ?? '', server: options.server }, options.pinFile);
  }

  /** Reads the pins from disk. @throws PinsRejectedError */
  async start(): Promise<void> {
    await this.#file.load();
    if (this.#options.http) this.#lookLater();
  }

  close(): void {
    this.#timer?.cancel();
    this.#closed.abort(new Error('closed'));
  }

  get mode(): PinMode {
    return this.#file.document?.mode ?? this.#options.mode;
  }

  /** A session of the server. */
  session(): ToolPinSession {
    return new ToolPinSession(this);
  }

  /** The hub announced a change, or its stream is open again. @param server null: every server */
  changed(server: string | null): void {
    if (server === null || server === this.#options.server) void this.#look();
  }

  /** Reports a listing. Resolves when it may be judged: at once, unless an undecided tool would be refused. */
  async report(report: Omit<ToolReport, 'server'>): Promise<void> {
    const { http, clock, server } = this.#options;
    this.#tellRefused(report);
    this.#options.onListing?.(report.tools);
    if (!http || !this.#hasRoutes) return;
    const key = reportKey(report);
    const { key: lastKey, at } = this.#lastReport;
    if (key === lastKey && clock.monotonic() - at < reportEvery) return;
    const done = this.#take('reporting the tools', async (signal) => {
      const pins = await reportTools(http, { ...report, server }, signal);
      this.#lastReport = { key, at: clock.monotonic() };
      return pins;
    });
    // Without a document nothing is known of the mode, which may be one that refuses.
    if (this.#file.document && this.mode === 'observe') return;
    await inTime(clock, patience, done, true);
  }

  get #decided(): readonly ToolPin[] {
    return this.#file.document?.pins ?? this.#options.localPins;
  }

  verdictOf(tool: string, fingerprint: string): ToolVerdict {
    const pin = this.#decided.find((one) => one.tool === tool && one.fingerprint === fingerprint);
    return verdictOf(this.mode, pin?.decision ?? null);
  }

  /** About a tool that the server did not list. Its definition may be one that a person rejected. */
  verdictOfUnlisted(tool: string): ToolVerdict {
    const mayBeRejected = this.#decided.some((one) => one.tool === tool && one.decision === 'rejected');
    return verdictOf(this.mode, mayBeRejected ? 'rejected' : null);
  }

  /** The sentence of a refusal, with a link where there is a hub. */
  reasonOf(tool: string, verdict: Exclude<ToolVerdict, 'allowed'>): string {
    const { server, hubUrl } = this.#options;
    const link = hubUrl === null ? '' : ` ${hubUrl}/dashboard/tools?server=${encodeURIComponent(server)}`;
    const what =
      verdict === 'rejected' ? 'was rejected' : 'is new or has changed, and nobody has accepted it yet';
    return `${refusalName}: the definition of ${JSON.stringify(tool)} ${what}.${link}`;
  }

  #tellRefused({ refused }: Pick<ToolReport, 'refused'>): void {
    for (const { name, problem } of refused) {
      const text = `the tool ${JSON.stringify(name.slice(0, 128))} is not listed: ${problemTexts[problem]}`;
      if (this.#announced.has(text) || this.#announced.size >= 1000) continue;
      this.#announced.add(text);
      this.#options.writeLog(text);
    }
  }

  /** Takes signed pins from the hub. A failure goes to the log, and the pins in use stay. */
  async #take(what: string, fetch: (signal: AbortSignal) => ReturnType<typeof fetchPins>): Promise<void> {
    const { signal } = this.#closed;
    try {
      if (await this.#file.take(await fetch(signal))) this.#options.onChange();
    } catch (failure) {
      if (signal.aborted) return;
      if (isRouteMissing(failure)) this.#hasRoutes = false;
      this.#options.writeLog(`${what}: ${failure instanceof Error ? failure.message : String(failure)}`);
    }
  }

  #look(): Promise<void> {
    const { http, server } = this.#options;
    if (!http || !this.#hasRoutes) return Promise.resolve();
    // A change during a look needs another one behind it.
    const before = this.#looking ?? Promise.resolve();
    const next = before.then(() =>
      this.#take('reading the tool pins', (signal) => fetchPins(http, server, signal)),
    );
    this.#looking = next;
    return next;
  }

  #lookLater(): void {
    this.#timer = this.#options.clock.after(lookEvery, () => {
      void this.#look().finally(() => {
        if (!this.#closed.signal.aborted) this.#lookLater();
      });
    });
  }
}

/** One session's listing under the pins of its server. */
export class ToolPinSession {
  readonly #pins: ToolPins;
  /** Null: nothing was listed so far. */
  #fingerprints: ReadonlyMap<string, string> | null = null;
  #problems: ReadonlyMap<string, ToolProblem> = new Map();

  constructor(pins: ToolPins) {
    this.#pins = pins;
  }

  /** Takes a whole listing. Resolves when `judge` may be asked about it. */
  async observe(listing: ServerListing): Promise<void> {
    const report = readListing(listing);
    this.#fingerprints = new Map(report.tools.map((tool) => [tool.name, tool.fingerprint]));
    this.#problems = new Map(report.refused.map(({ name, problem }) => [name, problem]));
    await this.#pins.report(report);
  }

  get mode(): PinMode {
    return this.#pins.mode;
  }

  /** True for a server's instructions that clients may get. */
  permits(instructions: string): boolean {
    const [entry] = readToolList([], instructions).tools;
    if (!entry) return false;
    return this.#pins.verdictOf(entry.name, fingerprint(entry.definition)) === 'allowed';
  }

  /**
   * The tools of a list for the client that may be listed, each judged by its definition there.
   * @param onStale called if a definition differs from the observed one
   */
  visible(tools: readonly unknown[], onStale: () => void): readonly unknown[] {
    let isStale = false;
    const visibleTools = tools.filter((tool) => {
      const [read] = readToolList([tool]).tools;
      if (!read || this.#problems.has(read.name)) return false;
      const current = fingerprint(read.definition);
      isStale ||= this.#fingerprints !== null && this.#fingerprints.get(read.name) !== current;
      return this.#pins.verdictOf(read.name, current) === 'allowed';
    });
    if (isStale) onStale();
    return visibleTools;
  }

  judge(tool: string): ToolJudgement {
    const problem = this.#problems.get(tool);
    if (problem) return { verdict: 'rejected', reason: `${refusalName}: ${problemTexts[problem]}` };
    const observed = this.#fingerprints?.get(tool);
    const verdict =
      observed === undefined ? this.#pins.verdictOfUnlisted(tool) : this.#pins.verdictOf(tool, observed);
    return { verdict, reason: verdict === 'allowed' ? null : this.#pins.reasonOf(tool, verdict) };
  }
}
