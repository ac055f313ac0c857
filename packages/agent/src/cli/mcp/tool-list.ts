// The tools of an MCP server as the proxy lists them itself, for the names of their arguments.
import { randomUUID } from 'node:crypto';
import { type Clock, inTime, type Timer } from '../../clock.ts';
import { type Fields, fieldsOf } from '../../fields.ts';
import type { Guard } from '../../guard/guard.ts';
import { foldCase } from '../../rules/fold.ts';
import type { ToolPinSession } from '../../tools/tool-pins.ts';
import type { Era } from './era.ts';
import { codes, type Id, MessageError, type Notification, type Request, type Response } from './message.ts';
import { SchemaLevel } from './schema.ts';

/** Time that a call waits for a list, and that a listing may take; milliseconds. */
const patience = 15_000;
/** Listings within `pace` milliseconds: a server that announces a change at each of them is not listed in a loop. */
const maxListings = 8;
const pace = 8000;
const maxPages = 100;
const maxTools = 10_000;

export interface ToolListOptions {
  readonly clock: Clock;
  readonly send: (message: Request | Notification) => void;
  /** For people. */
  readonly writeLog: (text: string) => void;
  /** Takes each whole list before it is used. */
  readonly listed?: (tools: readonly unknown[]) => Promise<void>;
}

/** One listing, page by page. */
interface Listing {
  id: Id;
  pages: number;
  readonly schemas: Map<string, unknown[]>;
  readonly tools: unknown[];
  /** Until it begins, or until it is given up. */
  timer: Timer | null;
  /** The listing that began in the place of this one; null: none did. */
  successor: Listing | null;
  readonly done: Promise<void>;
  readonly end: () => void;
}

export class ToolList {
  readonly #options: ToolListOptions;
  #listing: Listing | null = null;
  /** Follows the one under way, because of a change since that one began. */
  #next: Listing | null = null;
  /** Times at which the last listings began. */
  #begins: readonly number[] = [];
  /** By the name of the tool; null: no list so far. */
  #levels: ReadonlyMap<string, SchemaLevel> | null = null;
  #namesByFold: ReadonlyMap<string, string> = new Map();
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ToolListOptions) {
    this.#options = options;
  }

  /** Lists the tools once more, behind a listing under way; the last list stays until the new one is complete. */
  refresh(): void {
    if (this.#next) return;
    this.#next = newListing();
    if (!this.#listing) this.#beginLater(this.#next);
  }

  /** Lists the tools of another server, or for another client: no listing under way is of use. */
  startAnew(): void {
    const abandoned = this.#listing;
    const next = this.#next ?? newListing();
    this.#begin(next);
    if (!abandoned) return;
    abandoned.successor = next;
    abandoned.timer?.cancel();
    abandoned.end();
  }

  /**
   * Resolves when there is a list that was requested after every change so far, or the server has none. Resolves
   * with the last whole list after `patience`.
   * @throws MessageError when the server does not answer
   */
  async ready(): Promise<void> {
    if (!this.#listing && !this.#next && !this.#levels) this.refresh();
    const listing = this.#next ?? this.#listing;
    if (listing) await inTime(this.#options.clock, patience, endOf(listing));
    if (!this.#levels) throw new MessageError(codes.server, 'the MCP server is not running; try again later');
  }

  /** True if the last listing is older than `ms`, and no list is on its way. */
  isOlderThan(ms: number): boolean {
    const isUnderWay = this.#listing !== null || this.#next !== null;
    return !isUnderWay && this.#options.clock.monotonic() - this.#listedAt >= ms;
  }

  /** True when the response answers a question of the proxy's own. */
  take({ id, result, error }: Response): boolean {
    const listing = this.#listing;
    if (!listing || listing.id !== id) return false;
    // The proxy's own code for a server that has ended.
    if (error?.code === codes.server) this.#stop();
    else if (error) this.#fail(error.message);
    else this.#add(listing, fieldsOf(result));
    return true;
  }

  /** The schema of a tool's arguments; null where nothing is known of it. */
  schemaOf(tool: string): SchemaLevel | null {
    return this.#levels?.get(tool) ?? null;
  }

  /** The tool that a name folds to without being one; null when there is none. */
  toolInOtherCase(name: string): string | null {
    return this.#levels?.has(name) ? null : (this.#namesByFold.get(foldCase(name)) ?? null);
  }

  /** Ends what waits. */
  close(): void {
    this.#levels ??= new Map();
    this.#next?.timer?.cancel();
    this.#next?.end();
    this.#next = null;
    this.#stop();
  }

  /** Begins the listing, after a pause if too many have begun. */
  #beginLater(next: Listing): void {
    const { clock } = this.#options;
    const first = this.#begins.at(-maxListings) ?? Number.NEGATIVE_INFINITY;
    const wait = first + pace - clock.monotonic();
    if (wait <= 0) this.#begin(next);
    else next.timer = clock.after(wait, () => this.#begin(next));
  }

  #begin(next: Listing): void {
    const { clock, send } = this.#options;
    next.timer?.cancel();
    this.#next = null;
    this.#listing = next;
    this.#begins = [...this.#begins, clock.monotonic()].slice(-maxListings);
    next.timer = clock.after(patience, () => {
      const params = { requestId: next.id };
      // Its last answer may have come.
      if (next.id !== '') send({ kind: 'notification', method: 'notifications/cancelled', params });
      this.#stop();
    });
    this.#ask(next, undefined);
  }

  #ask(listing: Listing, cursor: unknown): void {
    listing.id = `reeve:tools:${randomUUID()}`;
    listing.pages += 1;
    const params = cursor === undefined ? {} : { cursor };
    this.#options.send({ kind: 'request', id: listing.id, method: 'tools/list', params });
  }

  #add(listing: Listing, { tools, nextCursor }: Fields): void {
    const page: readonly unknown[] = Array.isArray(tools) ? tools : [];
    const isMore = typeof nextCursor === 'string' && nextCursor !== '';
    const count = listing.tools.length + page.length;
    if (count > maxTools || (isMore && (count === maxTools || listing.pages === maxPages)))
      return void this.#fail(`there are more than ${maxTools} tools or ${maxPages} pages of them`);
    for (const tool of page) {
      listing.tools.push(tool);
      const { name, inputSchema } = fieldsOf(tool);
      if (typeof name !== 'string') continue;
      const schemas = listing.schemas.get(name);
      if (schemas) schemas.push(inputSchema);
      else listing.schemas.set(name, [inputSchema]);
    }
    if (isMore) return void this.#ask(listing, nextCursor);
    this.#finish(listing).catch((error: Error) => {
      if (this.#listing === listing) this.#fail(`its tools cannot be read: ${error.message}`);
    });
  }

  async #finish(listing: Listing): Promise<void> {
    // No other answer belongs to this listing.
    listing.id = '';
    this.#listedAt = this.#options.clock.monotonic();
    await this.#options.listed?.(listing.tools);
    if (this.#listing !== listing) return;
    const levels = [...listing.schemas].map(
      ([name, schemas]) => [name, new SchemaLevel(schemas, schemas[0])] as const,
    );
    this.#levels = new Map(levels);
    this.#namesByFold = new Map(levels.map(([name]) => [foldCase(name), name]));
    this.#stop();
  }

  #fail(reason: string): void {
    this.#options.writeLog(
      `cannot list the MCP server's tools (${reason}): argument names are compared only with contracts`,
    );
    this.#levels ??= new Map();
    this.#listedAt = this.#options.clock.monotonic();
    this.#stop();
  }

  #stop(): void {
    const listing = this.#listing;
    this.#listing = null;
    listing?.timer?.cancel();
    listing?.end();
    if (this.#next) this.#beginLater(this.#next);
  }
}

/** Resolves with the end of the listing, or of the last one that began in its place. */
async function endOf(first: Listing): Promise<void> {
  for (let listing: Listing | null = first; listing; listing = listing.successor) await listing.done;
}

function newListing(): Listing {
  let end: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { id: '', pages: 0, schemas: new Map(), tools: [], timer: null, successor: null, done, end };
}

/** Parts that decide which tools a client may see. */
interface Visibility {
  readonly guard: Guard;
  readonly hide: boolean;
  readonly pins: ToolPinSession | null;
}

/** The answer to `tools/list` for the client: without tools that pins, or with `hide` contracts, refuse. */
export function visibleList(
  era: Era,
  answer: Response,
  { guard, hide, pins }: Visibility,
  ownList: ToolList,
): Response {
  const list = fieldsOf(answer.result);
  if (!Array.isArray(list.tools)) return answer;
  const permitted = pins ? pins.visible(list.tools, () => ownList.refresh()) : list.tools;
  if (!era.isModern && !hide && permitted.length === list.tools.length) return answer;
  const tools = permitted.filter((tool) => {
    const { name } = fieldsOf(tool);
    return !hide || typeof name !== 'string' || !guard.refusesAlways(name);
  });
  return { kind: 'response', id: answer.id, result: era.encodeList({ ...list, tools }) };
}
