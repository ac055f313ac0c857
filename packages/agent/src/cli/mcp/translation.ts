// The parts of a translation between the eras of a client and its server.
import type { Clock } from '../../clock.ts';
import { type Fields, fieldsOf, without } from '../../fields.ts';
import { codes, type Id, type Message, type Notification, type Request, type Response } from './message.ts';

/** Outlets of a translation, and its clock. */
export interface Wire {
  readonly clock: Clock;
  /** Milliseconds that a server's question may wait for the client's answer. */
  readonly inputTimeout: number;
  /** Several clients share the server, so that a message of it belongs to none by itself. */
  readonly isShared: boolean;
  toServer(message: Message): void;
  /** @param related the request of the client that the message belongs to; null: none that is known */
  toClient(message: Message, related: Id | null): void;
}

/** A server as a client of one era sees it. */
export interface Translation {
  /** True while calls stay open at the server until their clients answer. Absent: there are never any. */
  readonly hasHeldCalls?: boolean;
  fromClient(message: Message): void;
  fromServer(message: Message, related: Id | null): void;
  /** The server was started again: it knows the client, and no open request. */
  restarted(): void;
  close(): void;
}

/** Both sides speak the same way. */
export class Passage implements Translation {
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  fromClient(message: Message): void {
    this.#wire.toServer(message);
  }

  fromServer(message: Message, related: Id | null): void {
    this.#wire.toClient(message, related);
  }

  restarted(): void {}

  close(): void {}
}

export const request = (id: Id, method: string, params: Fields): Request => ({
  kind: 'request',
  id,
  method,
  params,
});
export const notification = (method: string, params: Fields): Notification => ({
  kind: 'notification',
  method,
  params,
});
export const resultOf = (id: Id, result: unknown): Response => ({ kind: 'response', id, result });
export const methodMissing = (id: Id, method: string): Response => ({
  kind: 'response',
  id,
  error: { code: codes.method, message: `Method not found: ${method}` },
});

/** Requests that a server makes to a person or a program of the client. */
export const inputMethods = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

/** The capability that a client needs to answer such a request; null: it has it. */
export function missingCapability(method: string, params: Fields, capabilities: Fields): string | null {
  if (method === 'roots/list') return capabilities.roots === undefined ? 'roots' : null;
  if (method === 'sampling/createMessage') return capabilities.sampling === undefined ? 'sampling' : null;
  const { elicitation } = capabilities;
  if (elicitation === undefined) return 'elicitation';
  const modes = fieldsOf(elicitation);
  if (params.mode === 'url') return modes.url === undefined ? 'elicitation.url' : null;
  // A client of before there were modes names none, and shows forms.
  return Object.keys(modes).length === 0 || modes.form !== undefined ? null : 'elicitation.form';
}

/** Reason that keeps a client from answering the questions of a result; null: the client can answer all. */
export function unanswerable({ inputRequests }: Fields, capabilities: Fields): string | null {
  for (const inputRequest of Object.values(fieldsOf(inputRequests))) {
    const { method, params } = fieldsOf(inputRequest);
    const name = String(method);
    const isKnown = inputMethods.includes(name);
    const missing = isKnown ? missingCapability(name, fieldsOf(params), capabilities) : name;
    if (missing !== null)
      return `the server asks for ${name}, and the client does not have the capability ${missing}`;
  }
  return null;
}

/** Capabilities of a client in the words of the other era: without tasks, which are not translated. */
export const clientCapabilitiesOf = (capabilities: unknown): Fields =>
  without(fieldsOf(capabilities), 'tasks');

/** Capabilities of a server in the words of the other era. */
export const serverCapabilitiesOf = (capabilities: unknown): Fields =>
  without(fieldsOf(capabilities), 'tasks', 'extensions');
