// A button that reads a local file as text, also one that is dropped on it. It sends nothing.
import { type JSX, useId } from 'react';
import { Icon } from './icons.tsx';

export function FileButton({
  label,
  accept,
  maxBytes,
  onText,
  onRefused,
}: {
  readonly label: string;
  readonly accept: string;
  readonly maxBytes: number;
  readonly onText: (text: string) => void;
  readonly onRefused: (why: string) => void;
}): JSX.Element {
  const id = useId();
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    if (file.size > maxBytes) {
      onRefused(`The file is larger than ${Math.floor(maxBytes / 1024 / 1024)} MiB. Select a smaller file.`);
      return;
    }
    try {
      onText(await file.text());
    } catch {
      onRefused('The browser cannot read the file. Check its permissions and select it again.');
    }
  };
  return (
    <label
      className="button drop-target"
      htmlFor={id}
      // Without this, the browser leaves the page and opens the file.
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void read(event.dataTransfer.files[0]);
      }}
    >
      <Icon name="upload" /> {label}
      <span className="drop-hint muted">or drop it here</span>
      <input
        id={id}
        type="file"
        className="heard"
        accept={accept}
        onChange={(event) => {
          void read(event.target.files?.[0]);
          // A person may choose the same file again after a change.
          event.target.value = '';
        }}
      />
    </label>
  );
}
