// The server's introduction, with what the proxy changes: no calls as tasks, lists that may change, and no instructions
// that pins refuse.

import { fieldsOf } from '../../fields.ts';
import type { ToolPinSession } from '../../tools/tool-pins.ts';
import { type Era, serverInfoOf, tasksKey } from './era.ts';
import type { Request, Response } from './message.ts';
import type { ProxyTasks } from './tasks/tasks.ts';
import { clientCapabilitiesOf } from './translation.ts';

/** A server's description of itself, in either era. */
export interface ServerFacts {
  readonly info: { readonly name: string; readonly version: string } | null;
  readonly instructions: unknown;
  /** Lists that the server has. */
  readonly offers: readonly string[];
}

/** @param introduction the result of `initialize` or `server/discover` */
export function serverFactsOf(introduction: unknown): ServerFacts {
  const result = fieldsOf(introduction);
  const capabilities = fieldsOf(result.capabilities);
  const { name, version } = fieldsOf(result.serverInfo ?? serverInfoOf(result));
  const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 256) : '');
  return {
    info: typeof name === 'string' ? { name: text(name), version: text(version) } : null,
    instructions: result.instructions,
    offers: ['tools', 'resources', 'prompts'].filter((list) => capabilities[list] !== undefined),
  };
}

/** A client's `initialize` for the server: answers as tasks would pass the record. */
export function greetingOf(request: Request): Request {
  const { params } = request;
  if (fieldsOf(params.capabilities).tasks === undefined) return request;
  return { ...request, params: { ...params, capabilities: clientCapabilitiesOf(params.capabilities) } };
}

/** The server's introduction for the client. */
export function introductionOf(
  era: Era,
  answer: Response,
  pins: ToolPinSession | null,
  proxyTasks: ProxyTasks | null,
): Response {
  const result = fieldsOf(answer.result);
  const { instructions, offers } = serverFactsOf(result);
  const { tasks, ...capabilities } = fieldsOf(result.capabilities);
  const servesTasks = fieldsOf(capabilities.extensions)[tasksKey] !== undefined;
  const hasTasks = proxyTasks !== null && (proxyTasks.canAsk || servesTasks);
  const isSilenced = typeof instructions === 'string' && pins?.permits(instructions) === false;
  if (!era.isModern && offers.length === 0 && tasks === undefined && !isSilenced) return answer;
  // Every list may change: with other contracts, or when the server is started again.
  const lists = Object.fromEntries(
    offers.map((list) => [list, { ...fieldsOf(capabilities[list]), listChanged: true }]),
  );
  const permitted = isSilenced ? { ...result, instructions: undefined } : result;
  const encoded = era.encodeDiscovery(permitted, { ...capabilities, ...lists }, hasTasks);
  return { kind: 'response', id: answer.id, result: encoded };
}
