// The rules that answers, streams and broken connections must keep; what breaks one becomes a finding.
import type { Attack, Ending, OpenSockets } from './broken.ts';
import type { Findings, Step } from './findings.ts';
import { maxFrameBytes } from './frames.ts';
import { type Answer, readHead, type Silence } from './http.ts';
import type { Leaks } from './leaks.ts';
import type { Operation } from './requests.ts';
import type { StreamEnd } from './streams.ts';
import { type Credential, isAdmitted } from './world.ts';

/** An answer may not be larger, except a declared download. Bytes. */
const maxAnswerBytes = 4 * 1024 * 1024;
const maxDownloadBytes = 16 * 1024 * 1024;
/** Downloads of any size, piece by piece: they grow with what the run has stored. */
const ofAnySize: ReadonlySet<string> = new Set(['exportEvents']);
/** Larger bodies are not parsed. Bytes. */
const maxParsed = 1_000_000;

/** Texts that every environment of a tenant may read. */
const tenantWide: ReadonlySet<string> = new Set(['sessions', 'hosted-sessions']);

/** One request, as judged. */
export interface Asked {
  /** Where findings belong: the operation, or what was done instead. */
  readonly place: string;
  /** Null when no route declares it. */
  readonly operation: Operation | null;
  readonly credential: Credential;
  readonly path: string;
  readonly sent: Buffer;
  readonly isHead: boolean;
}

export class Judge {
  readonly #findings: Findings;
  readonly #leaks: Leaks;
  readonly #sockets: OpenSockets;

  constructor(findings: Findings, leaks: Leaks, sockets: OpenSockets) {
    this.#findings = findings;
    this.#leaks = leaks;
    this.#sockets = sockets;
  }

  answer(
    { place, operation, credential, path, sent, isHead }: Asked,
    answer: Answer,
    trace: readonly Step[],
  ): void {
    const { status, headers, body, bytes, fault } = answer;
    const { role, tenant } = credential;
    const add = this.#adder(place, trace);
    if (isError(status)) add('server error', `${status}, request ${headers.get('x-request-id')}`);
    if (fault !== null) this.#findings.add('malformed', fault, `${status} of ${place}`, trace);
    const isDownload = operation?.route.media !== undefined || path === '/api/openapi.json';
    const maxBytes = ofAnySize.has(place)
      ? Number.POSITIVE_INFINITY
      : isDownload
        ? maxDownloadBytes
        : maxAnswerBytes;
    if (bytes > maxBytes) add('too large', `${bytes} bytes`, bytes);
    const leak = this.leak(credential, operation, body);
    if (leak !== null) add('leak', `to ${role} of ${tenant}: ${leak}`);
    // The operator's are of all tenants.
    if (role !== 'operator') {
      const id = this.#leaks.foreignId(tenant, body, sent);
      if (id !== null) add('leak', `to ${role} of ${tenant}: ${id}`);
    }
    if (operation && status < 300 && !isAdmitted(operation.route, role)) add('let in', `${role}: ${status}`);
    const isJson = headers.get('content-type')?.startsWith('application/json') && !isHead;
    if (isJson && bytes <= maxParsed && !isJsonText(body))
      add('malformed', `${status}: the body is not JSON`);
  }

  /** @param isExcused true when a client must reckon with it */
  silence(place: string, silence: Silence, isExcused: boolean, trace: readonly Step[]): void {
    if (isExcused || this.#sockets.ended) return;
    this.#findings.add('no answer', place, silence, trace);
  }

  attack(
    { shape, isOwed }: Attack,
    { received, bytes, closed }: Ending,
    operation: Operation,
    credential: Credential,
    step: Step,
  ): void {
    const add = this.#adder(shape, [step]);
    const head = readHead(received);
    if (!closed) add('held open', `${operation.name}: ${bytes} bytes came`);
    const leak = this.leak(credential, operation, received);
    if (leak !== null) add('leak', leak);
    // 505: the native server's word for a version that it does not speak.
    if (head && isError(head.status) && head.status !== 505)
      add('server error', `${operation.name}: ${head.status}`);
    if (this.#sockets.ended) return;
    if (isOwed && bytes === 0) add('no answer', operation.name);
    // A request behind one that is still answered ends the connection: of a streamed answer a part of the head may be
    // out by then.
    const isCut = operation.route.download === true && head === null;
    if (bytes > 0 && !isCut && (head === null || head.fault !== null))
      add('malformed', head?.fault ?? 'the head has no end');
  }

  /** @param leak what was found in the stream while it ran; isExcused: this program had no processor meanwhile */
  stream(
    place: string,
    { reader, closed, unanswered, ignored }: StreamEnd,
    { leak, isExcused }: { readonly leak: string | null; readonly isExcused: boolean },
    step: Step,
  ): void {
    const add = this.#adder(place, [step]);
    const status = reader.head?.status ?? 0;
    if (leak !== null) add('leak', leak);
    if (reader.fault !== null) add('malformed', reader.fault);
    if (reader.largest > maxFrameBytes)
      add('too large', `a frame of ${reader.largest} bytes`, reader.largest);
    if (isError(status)) add('server error', `${status}`);
    if (ignored !== null) this.#findings.add('held open', `${place} after ${ignored}`, ignored, [step]);
    if (status === 0 && !isExcused && !this.#sockets.ended) add('no answer', closed ? 'closed' : 'silence');
    if (unanswered.length > 0)
      this.#findings.add('no answer', `${place} message`, unanswered.slice(0, 5).join(', '), [step]);
  }

  /**
   * Whose text is in bytes that this credential got, when it is another tenant's or environment's. What the operator
   * gets is everybody's.
   */
  leak({ role, tenant, env }: Credential, operation: Operation | null, bytes: Buffer): string | null {
    if (role === 'operator') return null;
    const leak = this.#leaks.foreignText(tenant, bytes);
    if (leak !== null || tenant === null || env === null) return leak;
    if (tenantWide.has(operation?.route.tag ?? '')) return null;
    return this.#leaks.foreignEnvironment(tenant, env, bytes);
  }

  /** Bytes of a stream that must be looked at again together with what follows. */
  get overlap(): number {
    return this.#leaks.overlap;
  }

  #adder(place: string, trace: readonly Step[]) {
    return (kind: Parameters<Findings['add']>[0], what: string, measure = 0): void =>
      this.#findings.add(kind, place, what, trace, measure);
  }
}

const isError = (status: number): boolean => status >= 500 && status !== 503;

function isJsonText(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}
