// The upload of a bundle, as text in an editor. The draft survives its dialog.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useDraft } from '../../lib/drafts.ts';
import { useProblems } from '../../lib/own-words.ts';
import { useAction } from '../../lib/query.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Form } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { starterBundle } from '../contracts/starters.ts';

export function UploadBundle({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [draft, setDraft] = useDraft<{ readonly text: string }>('bundle');
  const text = draft?.text ?? starterBundle;
  const setText = (next: string): void => {
    if (next !== text) setDraft({ text: next });
  };
  const problems = useProblems(text);
  const upload = useAction('uploadBundle', ['listBundles', 'listBundleVersions'], () => setDraft(null));
  const done = ({ name, version }: Reply<'uploadBundle'>): void => {
    say(`${name} v${version} uploaded. Deploy it to send it to agents.`, 'allow');
    onClose();
  };
  return (
    <Dialog title="Upload bundle" shape="wide" open onClose={onClose}>
      <Form
        by={upload}
        act="Upload bundle"
        onSubmit={() => upload.mutate({ body: { yaml_content: text } }, done)}
        buttons={
          <>
            {draft && <Button onClick={() => setDraft(null)}>Discard draft</Button>}
            <Button onClick={onClose}>{draft ? 'Keep draft and close' : 'Cancel'}</Button>
          </>
        }
      >
        <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />
      </Form>
    </Dialog>
  );
}
