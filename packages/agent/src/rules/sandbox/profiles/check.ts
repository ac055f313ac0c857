// Checks profiles that a tenant or the author of an agent wrote.
import { isMapping } from '../../bundle/reader.ts';
import { wordKinds } from './profile.ts';

/** Profiles in one setting, and subcommands within each other. */
const maxProfiles = 1_000;
const maxDepth = 4;
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= 10_000;
const isKind = (value: unknown): boolean => wordKinds.some((kind) => kind === value);
const areTexts = (value: unknown): boolean => isMapping(value) && Object.values(value).every(isText);
const fields = new Map<string, (value: unknown) => boolean>([
  ['options', (value) => areTexts(value) && Object.keys(value as object).every(isKind)],
  ['operands', (value) => Array.isArray(value) && value.length <= 100 && value.every(isKind)],
  ['stops', (value) => typeof value === 'boolean'],
  ['instead', isText],
  ['attached', isText],
  ['values', areTexts],
  ['subcommands', isMapping],
]);

/** The first thing that is wrong in profiles by program, with its place; null if they are sound. */
export function profilesProblem(value: unknown): string | null {
  if (!isMapping(value)) return 'must be a mapping from programs to profiles';
  const pending = Object.entries(value).map(([at, profile]) => ({ at, profile, depth: 0 }));
  for (const { at, profile, depth } of pending) {
    if (!isMapping(profile)) return `${at} must be a profile`;
    if (depth > maxDepth) return `${at} is nested too deep`;
    for (const [name, content] of Object.entries(profile)) {
      const isSound = fields.get(name);
      if (!isSound) return `${at}.${name} is no field of a profile`;
      if (!isSound(content)) return `${at}.${name} has a wrong value; kinds are ${wordKinds.join(', ')}`;
    }
    for (const [name, below] of Object.entries(profile.subcommands ?? {}))
      pending.push({ at: `${at}.${name}`, profile: below, depth: depth + 1 });
    if (pending.length > maxProfiles)
      return `must not contain more than ${maxProfiles} profiles and subcommands`;
  }
  return null;
}
