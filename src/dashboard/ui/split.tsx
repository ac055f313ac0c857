// The border between a list and the detail beside it. It moves by drag and by arrow keys; Home and End move it to its
// limits, and a double click back. The browser remembers its place.
import { type JSX, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { followDrag } from './drag.ts';
import './split.css';

/** Minimum width of each side, and the distance that an arrow key moves the border, in pixels. */
const [leastWidth, stepWidth] = [320, 16];

export interface SplitProps {
  /** Key of the stored width. */
  readonly name: string;
  readonly label: string;
  /**
   * The side with the stored width; the other side gets the rest. `before` is the element in front of the border,
   * `after` the one that the border is in.
   */
  readonly side: 'before' | 'after';
  /** Minimum width of that side, in pixels. Default: 320. */
  readonly least?: number;
  /** Width of both sides, in pixels. Default: that of the parent without the border. */
  readonly roomOf?: (border: HTMLElement) => number;
}

const roomInParent = (border: HTMLElement): number =>
  (border.parentElement?.clientWidth ?? 0) - border.clientWidth;

/** The parent's variable `--split` contains the width of the side; without a stored width, it is absent. */
export function Split(props: SplitProps): JSX.Element {
  const { name, label, side, least = leastWidth, roomOf = roomInParent } = props;
  const border = useRef<HTMLDivElement>(null);
  const { splits } = usePrefs();
  const [dragged, setDragged] = useState<number | null>(null);
  const [{ room, width }, setSizes] = useState({ room: 0, width: 0 });
  const panelOf = (element: Element) =>
    side === 'before' ? element.previousElementSibling : element.parentElement;
  const max = Math.max(least, room - leastWidth);
  const bounded = (pixels: number): number => Math.round(Math.min(max, Math.max(least, pixels)));
  const chosen = dragged ?? splits[name];
  const applied = chosen === undefined || room < least + leastWidth ? null : bounded(chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the element stays the same
  useEffect(() => {
    const element = border.current;
    const panel = element && panelOf(element);
    if (!element || !panel) return;
    const measure = (): void =>
      setSizes({ room: roomOf(element), width: panel.getBoundingClientRect().width });
    const observer = new ResizeObserver(measure);
    for (const one of [panel, document.getElementById('content')]) if (one) observer.observe(one);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const parent = border.current?.parentElement;
    if (applied === null) parent?.style.removeProperty('--split');
    else parent?.style.setProperty('--split', `${applied}px`);
  }, [applied]);
  const keep = (pixels: number): void =>
    changePrefs(({ splits }) => ({ splits: { ...splits, [name]: bounded(pixels) } }));
  const grow = side === 'before' ? 1 : -1;
  const press = (event: KeyboardEvent): void => {
    const targets: { readonly [key: string]: number } = {
      ArrowRight: width + grow * stepWidth,
      ArrowLeft: width - grow * stepWidth,
      Home: side === 'before' ? least : max,
      End: side === 'before' ? max : least,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    keep(target);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line of text cannot be moved
    <div
      ref={border}
      role="separator"
      tabIndex={0}
      className="split"
      hidden={room > 0 && room < least + leastWidth}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={least}
      aria-valuemax={max}
      aria-valuenow={bounded(width)}
      onKeyDown={press}
      onDoubleClick={() => {
        changePrefs(({ splits: { [name]: _, ...others } }) => ({ splits: others }));
      }}
      onPointerDown={(event) =>
        followDrag(event, (distance, isOver) => {
          setDragged(isOver ? null : width + grow * distance);
          if (isOver && distance !== 0) keep(width + grow * distance);
        })
      }
    />
  );
}
