// The tools that a guarded MCP server lists, for the hub: all pages of a listing together, as its clients get them.
import { type Fields, fieldsOf } from '../fields.ts';
import type { ServerListing } from '../tools/reporter.ts';

/** Tools of one listing. */
const maxTools = 10_000;

export class McpListings {
  readonly #server: Fields;
  readonly #report: (listing: ServerListing) => void;
  #tools: unknown[] = [];
  /** The cursor of the next page; null: the listing is whole, or not begun. */
  #next: string | null = null;

  /** @param server the low-level server of the SDK */
  constructor(server: Fields, report: (listing: ServerListing) => void) {
    this.#server = server;
    this.#report = report;
  }

  /** Takes one page. @param request `tools/list` */
  take(request: unknown, result: unknown): void {
    const { cursor = null } = fieldsOf(fieldsOf(request).params);
    const { tools, nextCursor } = fieldsOf(result);
    const isNext = cursor !== null && cursor === this.#next;
    if (!Array.isArray(tools) || (cursor !== null && !isNext)) return;
    if (!isNext) this.#tools = [];
    for (const tool of tools) this.#tools.push(tool);
    this.#next = typeof nextCursor === 'string' && this.#tools.length <= maxTools ? nextCursor : null;
    if (this.#next !== null) return;
    const { _serverInfo, _instructions: instructions } = this.#server;
    const { name, version } = fieldsOf(_serverInfo);
    const info = typeof name === 'string' ? { name, version: String(version ?? '') } : null;
    const all = this.#tools;
    this.#tools = [];
    this.#report({ tools: all, info, ...(typeof instructions === 'string' ? { instructions } : {}) });
  }
}
