// The format of tenant files: members of gzip, each of which is proved by the file's key.
import type { Secrets } from '../../shared/ports/secrets.ts';

/** The secrets of a file, from its passphrase. */
export type FileKey = Pick<Secrets, 'seal' | 'unseal' | 'proof'>;

export interface FileMember {
  readonly text: string;
  /** Hex SHA-256 of what the proof is about. */
  readonly digest: string;
  /** Hex. */
  readonly proof: string;
}

export interface TenantFileFormat {
  /** The key that opens files with this passphrase and salt: 32 bytes in base64. Takes a tenth of a second. */
  derive(passphrase: string, salt: string): Promise<string>;
  keyOf(derived: string): FileKey;
  /** @param prove makes the proof, hex, of the digest @throws HubError unprocessable above `maxMemberBytes` */
  pack(text: string, prove: (digest: string) => string): Promise<Uint8Array>;
  /** @throws HubError unprocessable for bytes that no hub wrote */
  unpack(bytes: Uint8Array): Promise<FileMember>;
}
