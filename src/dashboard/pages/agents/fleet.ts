// Marks a list of agents as old: the stream announces changed figures of the fleet, but not the agents.
import { useRef } from 'react';
import { useStore } from '../../lib/store.ts';
import { type FleetNumbers, fleetByEnv } from '../../live/fleet.ts';

const textOf = ({ connected, current, drift, unknown }: FleetNumbers): string =>
  [connected, current, drift, unknown].join(' ');

/** @param read the list: a new object after each reload, which is not old */
export function useFleetChanges(read: unknown): boolean {
  const numbers = useStore(fleetByEnv);
  const latest = useRef<{ read: unknown; readonly texts: Map<string, string> }>({ read, texts: new Map() });
  const { texts } = latest.current;
  if (latest.current.read !== read) {
    latest.current.read = read;
    texts.clear();
  }
  let isOld = false;
  for (const [env, one] of Object.entries(numbers)) {
    // The first figures of an environment are its state, not a change.
    if (!texts.has(env)) texts.set(env, textOf(one));
    else if (texts.get(env) !== textOf(one)) isOld = true;
  }
  return isOld;
}
