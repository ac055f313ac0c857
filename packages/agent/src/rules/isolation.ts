// Modes of isolation for programs that agents' tools run. Pure.

export const isolationModes = ['none', 'preferred', 'required'] as const;
/** `required`: no program runs without isolation. `preferred`: isolation where it works. `none`: no isolation. */
export type IsolationMode = (typeof isolationModes)[number];

export const isolations = ['bubblewrap', 'none'] as const;
/** Containment of a program that a tool has run. */
export type Isolation = (typeof isolations)[number];

/** The stricter one of two modes. */
export const stricterMode = (a: IsolationMode, b: IsolationMode): IsolationMode =>
  isolationModes.indexOf(a) > isolationModes.indexOf(b) ? a : b;

/** The mode with this name; `required` for a name that this version does not have, as from a newer hub. */
export const readIsolationMode = (name: unknown): IsolationMode =>
  isolationModes.find((mode) => mode === name) ?? 'required';
