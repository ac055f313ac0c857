// Loading of the native server, with the error for a server that does not load.
import type * as uws from 'uWebSockets.js';
import { HubError } from '../../src/shared/error.ts';

/** The module, with the option that its typings name elsewhere. */
export type Uws = typeof uws & { readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number };

/**
 * @param load how the module is imported; tests let it fail
 * @throws HubError unavailable: one line with the versions of Node and glibc that fit
 */
export async function loadUws(
  load: () => Promise<{ default: unknown }> = () => import('uWebSockets.js'),
): Promise<Uws> {
  try {
    // CommonJS: the module's exports arrive as the default.
    return (await load()).default as Uws;
  } catch (error) {
    const why = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
    throw new HubError(
      'unavailable',
      `The native HTTP server (uWebSockets.js) does not load on Node ${process.version}, ${process.platform} ${process.arch}: ` +
        'it needs Node 22 or 24 with glibc 2.38 or newer on Linux, or Node 20 with glibc 2.27 or newer (not musl). ' +
        `${why}${why.endsWith('.') ? '' : '.'}`,
    );
  }
}
