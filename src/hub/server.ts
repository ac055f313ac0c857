// The HTTP server that the hub runs on: the native one, or Node's own where that does not load.
import { startNodeServer } from '../../adapters/node-http/server.ts';
import { loadUws } from '../../adapters/uws/load.ts';
import { startServer } from '../../adapters/uws/server.ts';
import type { StartServer } from '../http/server.ts';
import { HubError } from '../shared/error.ts';
import type { HttpServerChoice } from './config.ts';

export interface ChosenServer {
  readonly start: StartServer;
  /** A sentence for the person who started the hub; null when there is none. */
  readonly note: string | null;
}

const cost =
  'a deployment takes about 1.4 times as long to reach all agents, and an idle stream uses about three times the ' +
  'memory (docs/performance.md)';

/**
 * @param load loads the native server
 * @throws HubError unavailable when the native server was asked for and does not load
 */
export async function chooseServer(
  choice: HttpServerChoice,
  load: () => Promise<unknown> = loadUws,
): Promise<ChosenServer> {
  if (choice === 'node') return { start: startNodeServer, note: null };
  try {
    await load();
    return { start: startServer, note: null };
  } catch (error) {
    if (choice === 'native' || !(error instanceof HubError)) throw error;
    const note = `${error.message} The hub uses Node's own HTTP server instead: ${cost}.`;
    return { start: startNodeServer, note };
  }
}
