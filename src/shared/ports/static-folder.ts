// The web console's files as the edge serves them: read once at start, from then on they do not change.

/** A file as the build left it: once as it is, and compressed where that is shorter. */
export interface StaticFile {
  readonly type: string;
  /** A strong entity tag, with its quotes. */
  readonly etag: string;
  readonly identity: Uint8Array;
  readonly br: Uint8Array | null;
  readonly gzip: Uint8Array | null;
}

/** By path below the folder, such as `assets/main-3f2a.js`. */
export type StaticFolder = ReadonlyMap<string, StaticFile>;
