// The server's introduction, with what the proxy changes: no calls as tasks, lists that may change, and no instructions
// that pins refuse.
import type { ToolPinSession } from '../../tools/tool-pins.ts';
import { type Era, serverInfoOf, tasksKey } from './era.ts';
import { fieldsOf } from './fields.ts';
import type { Request, Response } from './message.ts';
import type { ProxyTasks } from './tasks/tasks.ts';
import { clientCapabilitiesOf } from './translation.ts';

export interface Introduction {
  readonly info: { readonly name: string; readonly version: string } | null;
  readonly instructions: unknown;
  /** Lists that the server has. */
  readonly offers: readonly string[];
  /** For the client. */
  readonly answer: Response;
}

/** A client's `initialize` for the server: answers as tasks would pass the record. */
export function greetingOf(request: Request): Request {
  const { params } = request;
  if (fieldsOf(params.capabilities).tasks === undefined) return request;
  return { ...request, params: { ...params, capabilities: clientCapabilitiesOf(params.capabilities) } };
}

export function introductionOf(
  era: Era,
  answer: Response,
  pins: ToolPinSession | null,
  proxyTasks: ProxyTasks | null,
): Introduction {
  const result = fieldsOf(answer.result);
  const { instructions } = result;
  const { tasks, ...capabilities } = fieldsOf(result.capabilities);
  const servesTasks = fieldsOf(capabilities.extensions)[tasksKey] !== undefined;
  const hasTasks = proxyTasks !== null && (proxyTasks.canAsk || servesTasks);
  const { name, version } = fieldsOf(result.serverInfo ?? serverInfoOf(result));
  const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 256) : '');
  const info = typeof name === 'string' ? { name: text(name), version: text(version) } : null;
  const offers = ['tools', 'resources', 'prompts'].filter((list) => capabilities[list] !== undefined);
  const isSilenced = typeof instructions === 'string' && pins?.permits(instructions) === false;
  const introduction = { info, instructions, offers };
  if (!era.isModern && offers.length === 0 && tasks === undefined && !isSilenced)
    return { ...introduction, answer };
  // Every list may change: with other contracts, or when the server is started again.
  const lists = Object.fromEntries(
    offers.map((list) => [list, { ...fieldsOf(capabilities[list]), listChanged: true }]),
  );
  const permitted = isSilenced ? { ...result, instructions: undefined } : result;
  const encoded = era.encodeDiscovery(permitted, { ...capabilities, ...lists }, hasTasks);
  return { ...introduction, answer: { kind: 'response', id: answer.id, result: encoded } };
}
