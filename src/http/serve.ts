// The handlers of all routes as the pipeline calls them, each bound to its hub.

import type { Caller, Request } from './contract/call.ts';

export type BoundHandler = (
  input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
  caller: Caller,
  request: Request,
) => Promise<unknown>;

export type Serve = { readonly [operation: string]: BoundHandler };

/** Binds a table of handlers to what they work with. */
export function bind<Hub>(
  hub: Hub,
  handlers: {
    readonly [operation: string]: (
      hub: Hub,
      input: never,
      caller: never,
      request: Request,
    ) => Promise<unknown>;
  },
): Serve {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      // The declaration's schemas made the input and its auth chose the caller, so both have the handler's types.
      (input, caller, request) => handler(hub, input as never, caller as never, request),
    ]),
  );
}
