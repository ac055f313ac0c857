// Listings of guarded MCP servers for the hub: each is reported when it differs from the last one of its server.
import type { Clock } from '../clock.ts';
import type { OnError } from '../failure.ts';
import type { HttpConnection } from '../http.ts';
import {
  isRouteMissing,
  readListing,
  reportEvery,
  reportKey,
  reportTools,
  type ServerListing,
} from './reporter.ts';

const maxServers = 100;

export interface ToolReportPorts {
  /** Null: no hub. */
  readonly http: HttpConnection | null;
  readonly clock: Clock;
  readonly onError: OnError;
}

export class ToolReports {
  readonly #ports: ToolReportPorts;
  readonly #closed = new AbortController();
  /** By label. */
  readonly #lastReports = new Map<string, { readonly key: string; readonly at: number }>();
  #hasRoute = true;

  constructor(ports: ToolReportPorts) {
    this.#ports = ports;
  }

  /** @param server the label of the server */
  report(server: string, listing: ServerListing): void {
    const { http, clock, onError } = this.#ports;
    if (!http || !this.#hasRoute) return;
    // As clients read the list: without members that JSON leaves out.
    const report = readListing({ ...listing, tools: JSON.parse(JSON.stringify(listing.tools)) });
    const key = reportKey(report);
    const last = this.#lastReports.get(server);
    const at = clock.monotonic();
    if (last?.key === key && at - last.at < reportEvery) return;
    if (!last && this.#lastReports.size >= maxServers) return;
    this.#lastReports.set(server, { key, at });
    reportTools(http, { ...report, server }, this.#closed.signal).catch((failure: unknown) => {
      if (this.#closed.signal.aborted) return;
      if (isRouteMissing(failure)) this.#hasRoute = false;
      else this.#lastReports.set(server, { key: '', at });
      onError(failure, 'reporting the tools of an MCP server');
    });
  }

  close(): void {
    this.#closed.abort(new Error('closed'));
  }
}
