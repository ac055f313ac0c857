// A guard over a hub: client, stream, bundle on disk and the hub's approvals and counters put together. Judges nothing.
import { dirname, join } from 'node:path';
import { BundleCache } from '../bundle/cache.ts';
import { LiveBundle } from '../bundle/live.ts';
import { Pins } from '../bundle/pins.ts';
import { ConfigurationError } from '../failure.ts';
import { HubClient, hubOptionsOf } from '../hub.ts';
import type { IsolationMode } from '../rules/isolation.ts';
import { type StreamTransport, sseTransport } from '../stream/transport.ts';
import { loadWebSocket, webSocketTransport } from '../stream/websocket.ts';
import { tellFindings } from './findings.ts';
import { compilePolicy } from './language.ts';
import type { ConnectOptions, GuardOptions } from './options.ts';
import type { Policy } from './policy.ts';

/** A guard and the two things only this file may do to it. */
interface Made<G> {
  readonly guard: G;
  swap(policy: Policy): void;
  onClose(close: () => Promise<void>): void;
}

/**
 * @param signal ends a start that waits for the hub: the bundle on disk is used, if there is one
 * @throws ConfigurationError
 */
export async function connectGuard<G>(
  options: ConnectOptions,
  make: (policy: Policy, options: GuardOptions, hubIsolation: () => IsolationMode) => Made<G>,
  signal?: AbortSignal,
): Promise<G> {
  const hub = new HubClient(hubOptionsOf(options));
  // Said at once: a stream that cannot open would be tried again and again.
  if (options.transport?.startsWith('websocket')) await loadWebSocket();
  const { bundleName = null, tags = {}, signing = 'if-signed', cacheFile, onError = () => {} } = options;
  const scope = { url: hub.http.address(''), env: hub.env, configured: bundleName };
  let connected: Made<G> | null = null;
  /** The policy whose findings were reported: a document that comes again has no new ones. */
  let looked: Policy | null = null;
  const live = new LiveBundle<Policy>({
    hub,
    transport: transportOf(options, hub),
    compile: (yaml) => compilePolicy(yaml, options, options.onFindings !== null),
    bundleName,
    tags,
    signing,
    pins: pinsOf(hub, scope.url, cacheFile),
    cache: cacheFile === undefined ? null : new BundleCache(cacheFile, scope),
    onApplied: (bundle) => {
      const policy = bundle.compiled.withName(bundle.bundleName);
      connected?.swap(policy);
      if (looked?.version !== policy.version || looked.name !== policy.name) tellFindings(policy, options);
      looked = policy;
      options.onBundle?.({
        bundleName: bundle.bundleName,
        version: bundle.version,
        policyVersion: bundle.policyVersion,
      });
    },
    onError,
    onToolPins: options.onToolPins,
    ...(options.idleTimeout === undefined ? {} : { idleTimeout: options.idleTimeout }),
  });
  const close = (): Promise<void> => live.close();
  signal?.addEventListener('abort', close, { once: true });
  try {
    await live.start();
    const first = live.current;
    if (!first) throw new ConfigurationError('the hub returned no bundle');
    const guardOptions = {
      ...options,
      hub,
      ...(options.hubSessions ? { sessions: options.sessions ?? hub.sessions } : {}),
    };
    connected = make(first.compiled.withName(first.bundleName), guardOptions, () => live.isolation);
    connected.onClose(close);
    return connected.guard;
  } catch (failure) {
    // Nobody else can end the stream.
    await close();
    throw failure;
  } finally {
    signal?.removeEventListener('abort', close);
  }
}

const pinsOf = ({ http }: HubClient, url: string, cacheFile: string | undefined): Pins =>
  new Pins(
    { url, account: http.account },
    cacheFile === undefined ? null : join(dirname(cacheFile), 'reeve-pins'),
  );

function transportOf({ transport = 'sse' }: ConnectOptions, hub: HubClient): StreamTransport {
  if (transport === 'sse') return sseTransport(hub.http.fetch);
  return webSocketTransport(transport === 'websocket' ? 'json' : 'msgpack');
}
