// The types that handlers work with: the use cases, the ports that no use case needs, and handlers. Holds no logic.

import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { App } from './app.ts';
import type { CallerOf, List, Reply, Request, Streamed, WrittenJson } from './call.ts';
import type { Input, ReplyBody, RouteDeclaration } from './route.ts';

export type { ClusterState, NodeHealth } from '../../shared/ports/node-health.ts';
export type { Settings, SetupToken } from '../../shared/use-case-ports.ts';

/**
 * Ports that a translation needs. The store, the actors and the bus are not among them: the effects of a request are a
 * use case.
 */
type Translating = Pick<AppPorts, 'clock' | 'health' | 'log' | 'messengers' | 'secrets' | 'settings'>;

export interface Hub extends Translating {
  readonly app: App;
}

/** A handler of one route. Returns the body, or a Reply that adds headers, cookies or another status. */
export type Handler<R extends RouteDeclaration> = (
  hub: Hub,
  input: Input<R>,
  caller: CallerOf<R['auth']>,
  request: Request,
) => Promise<
  ReplyBody<R> | Reply<ReplyBody<R> | WrittenJson> | PageOf<ReplyBody<R>> | StreamedOf<R> | WrittenJson
>;

/** A page of the list that a route declares. */
type PageOf<B> = B extends readonly (infer T)[]
  ? List<T>
  : B extends { readonly [field: string]: readonly (infer T)[] }
    ? List<T>
    : never;

/** Further reply type of a route that declares a download. */
type StreamedOf<R extends RouteDeclaration> = R extends { readonly download: true } ? Streamed : never;

/** One handler for each route of a table that is not a stream; a missing one does not compile. */
export type Handlers<T extends { readonly [name: string]: RouteDeclaration }> = {
  readonly [N in keyof T as T[N] extends { readonly media: 'text/event-stream'; readonly method: 'GET' }
    ? never
    : N]: Handler<T[N]>;
};
