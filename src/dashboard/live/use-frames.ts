// The frames of the live stream, while a component is mounted.
import { useEffect, useEffectEvent } from 'react';
import type { LiveFrame } from './cache.ts';
import { followFrames } from './live.ts';

export function useFrames(follower: (frame: LiveFrame) => void): void {
  const follow = useEffectEvent(follower);
  useEffect(() => followFrames((frame) => follow(frame)), []);
}
