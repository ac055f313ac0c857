// Whether a list of agents is old: the stream tells when the numbers of the fleet change, and not of whom.
import { useRef } from 'react';
import { useStore } from '../../lib/store.ts';
import { type FleetNumbers, fleetByEnv } from '../../live/fleet.ts';

const textOf = ({ connected, current, drift, unknown }: FleetNumbers): string =>
  [connected, current, drift, unknown].join(' ');

/** @param read the list, another object each time that it was read: it is not old then */
export function useFleetChanges(read: unknown): boolean {
  const numbers = useStore(fleetByEnv);
  const seen = useRef<{ read: unknown; readonly texts: Map<string, string> }>({ read, texts: new Map() });
  const { texts } = seen.current;
  if (seen.current.read !== read) {
    seen.current.read = read;
    texts.clear();
  }
  let isOld = false;
  for (const [env, one] of Object.entries(numbers)) {
    // What is heard of an environment first is how it stands, and no change.
    if (!texts.has(env)) texts.set(env, textOf(one));
    else if (texts.get(env) !== textOf(one)) isOld = true;
  }
  return isOld;
}
