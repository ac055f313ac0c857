// Structured logs with pino, one JSON line each. Redaction here is the second net: callers pass no secret.
import { type DestinationStream, pino } from 'pino';
import type { Log } from '../../src/shared/ports/log.ts';
import { snakeKeys } from '../../src/shared/snake-keys.ts';

const names = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'passwordHash',
  'password_hash',
  'token',
  'key',
  'apiKey',
  'api_key',
  'secret',
  'sealedSeed',
  'sealed_seed',
  'seed',
  'config',
];

/** Each name at the top and one or two levels down. */
const paths = names.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);

export interface LogOptions {
  readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** This process's name among a cluster's nodes, for every line; none by default. */
  readonly node?: string | undefined;
  /** Standard output by default. */
  readonly destination?: DestinationStream;
}

/** Errors go under `err`. `level` can be changed at any time. */
export function createLog(options: LogOptions = {}): Log & { level: string } {
  return pino(
    {
      level: options.level ?? 'info',
      base: options.node === undefined ? null : { node: options.node },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: snakeKeys },
      redact: { paths, censor: '[redacted]' },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false }),
  );
}
