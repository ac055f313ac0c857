// Observations: what a server lists, reported to the hub, whose answer has the signed pins. Knows no trust.
import { createHash } from 'node:crypto';
import type { Succession } from '../bundle/signature.ts';
import { HubResponseError } from '../failure.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { HttpConnection } from '../http.ts';
import { fingerprintOf, maxServerLabel, type RefusedTool, readToolList } from '../rules/tools/definition.ts';
import type { SignedPins } from './document.ts';

/** Milliseconds between reports of an unchanged listing. */
export const reportEvery = 600_000;

/** A server's own words about its tools, as a strict JSON reader returned them. */
export interface ServerListing {
  readonly tools: readonly unknown[];
  /** Not a text: none. */
  readonly instructions?: unknown;
  /** The name that the server gives itself. */
  readonly info?: { readonly name: string; readonly version: string } | null;
}

/** A tool with its fingerprint. */
export interface FingerprintedTool {
  readonly name: string;
  readonly definition: string;
  readonly fingerprint: string;
}

export interface ToolReport {
  readonly server: string;
  readonly info: { readonly name: string; readonly version: string } | null;
  readonly tools: readonly FingerprintedTool[];
  readonly refused: readonly RefusedTool[];
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
export const fingerprint = (definition: string): string => fingerprintOf(definition, sha256);

/** Turns a listing into the parts of a report. */
export function readListing({ tools, instructions, info = null }: ServerListing): Omit<ToolReport, 'server'> {
  const listed = readToolList(tools, instructions);
  const withFingerprints = listed.tools.map((tool) => ({
    ...tool,
    fingerprint: fingerprint(tool.definition),
  }));
  return { info, tools: withFingerprints, refused: listed.refused };
}

/** Equal for reports that the hub need not get twice. */
export const reportKey = ({ tools, refused, info }: Omit<ToolReport, 'server'>): string =>
  sha256(JSON.stringify([tools.map((tool) => tool.fingerprint), refused, info]));

/** True if the hub is of a version without routes for tools. */
export const isRouteMissing = (failure: unknown): boolean =>
  failure instanceof HubResponseError && (failure.status === 404 || failure.status === 405);

/** Characters of definitions in one request, whose body may have 1 MiB; JSON within JSON can double their size. */
const maxSent = 400_000;
const maxRefused = 100;

function signedPinsOf(value: unknown): SignedPins {
  const { document, signature, public_key: publicKey, key_succession: list } = fieldsOf(value);
  const areTexts = [document, signature, publicKey].every((one) => typeof one === 'string');
  if (!areTexts) throw new Error('the hub sent no tool pins');
  const successions = (Array.isArray(list) ? list.slice(-16) : []).map((one): Succession => {
    const { previous_key, public_key, rotated_at, signature: by } = fieldsOf(one);
    return {
      previousKey: String(previous_key),
      publicKey: String(public_key),
      rotatedAt: String(rotated_at),
      signature: String(by),
    };
  });
  return { document, signature, publicKey, successions } as SignedPins;
}

/**
 * Reports a listing, then the definitions that the hub lacks.
 * @returns the pins of the last answer
 * @throws HubResponseError, HubConnectionError
 */
export async function reportTools(
  http: HttpConnection,
  report: ToolReport,
  signal: AbortSignal,
): Promise<SignedPins> {
  const post = async (tools: readonly object[]): Promise<Fields> => {
    const body = {
      agent_id: http.agentId,
      server: report.server.slice(0, maxServerLabel),
      server_info: report.info,
      tools,
      refused: report.refused.slice(0, maxRefused),
    };
    return fieldsOf(await http.request('POST', '/tool-observations', { body, signal }));
  };
  let answer = await post(report.tools.map(({ name, fingerprint }) => ({ name, fingerprint })));
  const missing = new Set(Array.isArray(answer.missing) ? answer.missing : []);
  const lacking = report.tools.filter(({ fingerprint }) => missing.has(fingerprint));
  for (let from = 0; from < lacking.length; ) {
    let to = from;
    let size = 0;
    while (to < lacking.length && (to === from || size + (lacking[to]?.definition.length ?? 0) <= maxSent)) {
      size += lacking[to]?.definition.length ?? 0;
      to++;
    }
    answer = await post(lacking.slice(from, to));
    from = to;
  }
  return signedPinsOf(answer.pins);
}

/** @throws HubResponseError, HubConnectionError */
export async function fetchPins(
  http: HttpConnection,
  server: string,
  signal: AbortSignal,
): Promise<SignedPins> {
  const query = `server=${encodeURIComponent(server)}&env=${encodeURIComponent(http.env)}`;
  return signedPinsOf(await http.request('GET', `/tool-pins/document?${query}`, { signal }));
}
