// A guard over a hub: client, stream, bundle on disk and the hub's approvals and counters put together. Judges nothing.
import { dirname, join } from 'node:path';
import { BundleCache } from '../bundle/cache.ts';
import { LiveBundle } from '../bundle/live.ts';
import { Pins } from '../bundle/pins.ts';
import { isPublicKey } from '../bundle/signature.ts';
import { ConfigurationError } from '../failure.ts';
import { identifierPattern } from '../http.ts';
import { HubClient } from '../hub.ts';
import { type StreamTransport, sseTransport } from '../stream/transport.ts';
import { webSocketTransport } from '../stream/websocket.ts';
import { compilePolicy } from './language.ts';
import type { ConnectOptions, GuardOptions } from './options.ts';
import type { Policy } from './policy.ts';

/** A guard and the two things only this file may do to it. */
interface Made<G> {
  readonly guard: G;
  swap(policy: Policy): void;
  onClose(close: () => Promise<void>): void;
}

export async function connectGuard<G>(
  options: ConnectOptions,
  make: (policy: Policy, options: GuardOptions) => Made<G>,
): Promise<G> {
  checkOptions(options);
  const hub = new HubClient(options);
  const { bundleName = null, tags = {}, signing = 'if-signed', cacheFile, onError = () => {} } = options;
  const scope = { url: hub.http.address(''), env: hub.env, configured: bundleName };
  let made: Made<G> | null = null;
  const live = new LiveBundle<Policy>({
    hub,
    transport: transportOf(options, hub),
    compile: (yaml) => compilePolicy(yaml, options),
    bundleName,
    tags,
    signing,
    pins: new Pins(
      { url: scope.url, account: hub.http.account },
      cacheFile === undefined ? null : join(dirname(cacheFile), 'reeve-pins'),
    ),
    cache: cacheFile === undefined ? null : new BundleCache(cacheFile, scope),
    onApplied: (bundle) => {
      made?.swap(bundle.compiled.named(bundle.bundleName));
      options.onBundle?.({
        bundleName: bundle.bundleName,
        version: bundle.version,
        policyVersion: bundle.policyVersion,
      });
    },
    onError,
    ...(options.idleTimeout === undefined ? {} : { idleTimeout: options.idleTimeout }),
  });
  await live.start();
  const first = live.current;
  if (!first) throw new ConfigurationError('the hub gave no bundle');
  made = make(first.compiled.named(first.bundleName), {
    ...options,
    hub,
    ...(options.hubSessions ? { sessions: options.sessions ?? hub.sessions } : {}),
  });
  made.onClose(() => live.close());
  return made.guard;
}

function transportOf({ transport = 'sse' }: ConnectOptions, hub: HubClient): StreamTransport {
  if (transport === 'sse') return sseTransport(hub.http.fetch);
  return webSocketTransport(transport === 'websocket' ? 'json' : 'msgpack');
}

const transports: readonly unknown[] = [undefined, 'sse', 'websocket', 'websocket-msgpack'];

function checkOptions({ bundleName, tags = {}, signing = 'off', transport }: ConnectOptions): void {
  if (!transports.includes(transport)) throw new ConfigurationError('there is no such transport');
  if (bundleName !== undefined && !identifierPattern.test(bundleName)) {
    throw new ConfigurationError('bundleName is not a valid identifier');
  }
  const entries = Object.entries(tags);
  const fits = ([key, value]: [string, unknown]): boolean =>
    key.length <= 128 && typeof value === 'string' && value.length <= 256;
  if (entries.length > 64 || !entries.every(fits)) {
    throw new ConfigurationError('tags are at most 64, keys at most 128 and values at most 256 characters');
  }
  if (typeof signing !== 'string' && (signing.length === 0 || !signing.every(isPublicKey))) {
    throw new ConfigurationError('signing needs public keys of 64 hex characters');
  }
}
