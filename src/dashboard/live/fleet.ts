// The latest figures about connected agents from the stream, by environment.
import { createStore } from '../lib/store.ts';
import type { LiveFrame } from './cache.ts';

export type FleetFrame = Extract<LiveFrame, { type: 'fleet_changed' }>;
export type FleetNumbers = Pick<FleetFrame, 'connected' | 'current' | 'drift' | 'unknown'>;

/** Empty until the first frame. */
export const fleetByEnv = createStore<{ readonly [env: string]: FleetNumbers }>({});

export const isFleet = (frame: { readonly type: string }): frame is FleetFrame =>
  frame.type === 'fleet_changed';

export function takeFleet(frame: FleetFrame): void {
  fleetByEnv.set((before) => ({ ...before, [frame.env]: frame }));
}

/** Figures of one environment, or sums of all; null while they are unknown. */
export function fleetOf(
  numbersByEnv: { readonly [env: string]: FleetNumbers },
  env: string | null | undefined,
): FleetNumbers | null {
  if (env) return numbersByEnv[env] ?? null;
  const all = Object.values(numbersByEnv);
  if (all.length === 0) return null;
  const sum = (of: keyof FleetNumbers): number => all.reduce((total, numbers) => total + numbers[of], 0);
  return {
    connected: sum('connected'),
    current: sum('current'),
    drift: sum('drift'),
    unknown: sum('unknown'),
  };
}
