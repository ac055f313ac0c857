// The audit chain: download for `reeve-agent verify`, or verification here with the pinned keys. A stored file can be
// verified in the same way.
import { type JSX, useEffect, useState } from 'react';
import { ApiError } from '../../lib/api.ts';
import { type ChainVerdict, verifyChain } from '../../lib/evidence.ts';
import { callHostedPage } from '../../lib/hosted.ts';
import { count } from '../../lib/text.ts';
import { download } from '../../ui/download.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { Button, Data, Notice, toneIcons } from '../../ui/parts.tsx';
import { PinnedKeys, usePinnedKeys } from '../../ui/pinned-keys.tsx';
import { Failed } from '../../ui/query-result.tsx';

type Part = Awaited<ReturnType<typeof callHostedPage<'hostedExportAudit'>>>;

/**
 * Downloads all parts in order.
 * @param onPart receives the number of each part before its request, from 1
 * @param period instants of RFC 3339; default: the whole chain
 * @throws ApiError, and the reason of the signal once it is aborted
 */
export async function readChain(
  onPart: (parts: number) => void,
  period: { readonly from?: string; readonly to?: string } = {},
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const parts: string[] = [];
  let from: string | null = '1';
  while (from !== null) {
    onPart(parts.length + 1);
    const { reply, next }: Part = await callHostedPage(
      'hostedExportAudit',
      { query: { ...period, from_seq: from } },
      signal,
    );
    parts.push(reply);
    from = next;
  }
  return parts;
}

/** Maximum size of a file in a page, in bytes. */
const maxFile = 256 * 1024 * 1024;

export function Chain(): JSX.Element {
  const [keys, onPin] = usePinnedKeys();
  /** The step in progress; null if there is none. */
  const [busy, setBusy] = useState<string | null>(null);
  const [failed, setFailed] = useState<ApiError | string | null>(null);
  const [text, setText] = useState<string | null>(null);
  const [verdict, setVerdict] = useState<ChainVerdict | null>(null);
  useEffect(() => {
    if (text === null) return;
    let isOver = false;
    setVerdict(null);
    const lines = text.trimEnd().split('\n');
    const onLine = (checked: number): void => {
      if (!isOver) setBusy(`Verifying line ${count(checked)} of ${count(lines.length)}`);
    };
    void verifyChain(lines, keys, onLine).then((chainVerdict) => {
      if (isOver) return;
      setVerdict(chainVerdict);
      setBusy(null);
    });
    return () => {
      isOver = true;
    };
  }, [text, keys]);
  const read = async (use: (parts: readonly string[]) => void): Promise<void> => {
    setFailed(null);
    try {
      use(await readChain((part) => setBusy(`Reading part ${part}`)));
    } catch (error) {
      setFailed(error instanceof ApiError ? error : String(error));
    }
    setBusy(null);
  };
  return (
    <section className="form" aria-label="Audit chain">
      <div className="decide-buttons starters">
        <Button
          icon="check"
          disabled={busy !== null}
          onClick={() => void read((parts) => setText(parts.join('')))}
        >
          Verify chain
        </Button>
        <FileButton
          label="Verify file"
          accept=".ndjson,.jsonl,.json"
          maxBytes={maxFile}
          onText={(whole) => {
            setFailed(null);
            setText(whole);
          }}
          onRefused={setFailed}
        />
        <Button
          icon="download"
          disabled={busy !== null}
          onClick={() => void read((parts) => download('audit-chain.ndjson', 'application/x-ndjson', parts))}
        >
          Download chain
        </Button>
        {busy !== null && (
          <span className="muted numbers" role="status">
            {busy}…
          </span>
        )}
      </div>
      {typeof failed === 'string' ? (
        <p className="field-error" role="alert">
          {failed}
        </p>
      ) : (
        failed && <Failed error={failed} />
      )}
      {verdict && <ChainResult verdict={verdict} />}
      {(verdict !== null || keys.length > 0) && <PinnedKeys keys={keys} onPin={onPin} />}
    </section>
  );
}

function ChainResult({
  verdict: { wrong, summary, keyId, by },
}: Readonly<{ verdict: ChainVerdict }>): JSX.Element {
  const tone = wrong !== null ? 'deny' : keyId === null ? 'ask' : 'allow';
  return (
    <Notice tone={tone} icon={toneIcons[tone]} role="status" label="Verification result">
      {wrong !== null ? (
        <p>
          <strong>Verification failed:</strong> <Data text={wrong} mono={false} max={400} />.
        </p>
      ) : (
        <p>
          <strong>{keyId === null ? 'Intact, signer unknown.' : 'Verified.'}</strong>{' '}
          <Data text={summary} mono={false} max={400} />
          {keyId === null ? (
            '. To verify the signature, pin a key that you trust.'
          ) : (
            <>
              , <Data text={keyId} />, verified with {by}.
            </>
          )}
        </p>
      )}
    </Notice>
  );
}
