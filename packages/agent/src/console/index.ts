// The typed client of the console API, `reeve-agent/console`: everything it exports.
export { HubConnectionError } from '../failure.ts';
export {
  type CallOptions,
  type ConsoleClient,
  ConsoleError,
  type ConsoleOptions,
  consoleClient,
  type StreamEvent,
  type StreamOptions,
} from './client.ts';
export type * from './generated/index.ts';
export { consoleRoutes } from './generated/operations.ts';
