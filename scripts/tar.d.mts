// Types of tar.mjs, for scripts in TypeScript.

export interface TarFile {
  /** Relative, with slashes; ASCII. */
  readonly path: string;
  readonly bytes: Buffer;
  /** Permissions, such as 0o644. */
  readonly mode: number;
}

/** @throws Error for a path that does not fit (155 characters, a slash, 100 characters) */
export function tarball(files: readonly TarFile[]): Buffer;
