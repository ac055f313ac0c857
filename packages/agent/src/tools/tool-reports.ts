// Listings of guarded MCP servers for the hub: each is reported when it differs from the last one of its server.
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { HubResponseError, type OnError } from '../failure.ts';
import type { HttpConnection } from '../http.ts';
import { fingerprintOf, readToolList } from '../rules/tools/definition.ts';
import { reportTools } from './reporter.ts';
import type { ServerListing } from './tool-pins.ts';

/** Milliseconds between reports of an unchanged listing. */
const reportEvery = 600_000;
const maxServers = 100;

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

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
  report(server: string, { tools, instructions, info = null }: ServerListing): void {
    const { http, clock, onError } = this.#ports;
    if (!http || !this.#hasRoute) return;
    const listed = readToolList(tools, instructions);
    const fingerprinted = listed.tools.map((tool) => ({
      ...tool,
      fingerprint: fingerprintOf(tool.definition, sha256),
    }));
    const key = sha256(JSON.stringify([fingerprinted.map((tool) => tool.fingerprint), listed.refused, info]));
    const last = this.#lastReports.get(server);
    const at = clock.monotonic();
    if (last?.key === key && at - last.at < reportEvery) return;
    if (!last && this.#lastReports.size >= maxServers) return;
    this.#lastReports.set(server, { key, at });
    const report = { server, info, tools: fingerprinted, refused: listed.refused };
    reportTools(http, report, this.#closed.signal).catch((failure: unknown) => {
      if (this.#closed.signal.aborted) return;
      // A hub of an earlier version has no such route.
      if (failure instanceof HubResponseError && failure.status === 404) this.#hasRoute = false;
      else this.#lastReports.set(server, { key: '', at });
      onError(failure, 'reporting the tools of an MCP server');
    });
  }

  close(): void {
    this.#closed.abort(new Error('closed'));
  }
}
