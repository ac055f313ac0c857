// Changes whose answer belongs to a page, not to a component: the live stream often reports a change before its answer
// arrives, and the component that sent it may be replaced by then.
import { type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { ApiError } from './api.ts';

type PageMutation<R, I> = Omit<UseMutationResult<R, ApiError, I>, 'mutate'> & {
  /** `onSuccess` runs while the page keeps its address, also after the calling component is unmounted. */
  readonly mutate: (input: I, onSuccess?: (reply: R) => void) => void;
};

/**
 * @param send the request
 * @param onSuccess runs after every success, before that of the call, whatever page is open
 * @param onChanged runs after a refusal because the hub has another state than the request names
 */
export function usePageMutation<R, I>(
  send: (input: I) => Promise<R>,
  onSuccess: (reply: R) => void,
  onChanged?: () => void,
): PageMutation<R, I> {
  const mutation = useMutation<R, ApiError, I>({
    mutationFn: (input) => send(input),
    onSuccess: (reply) => onSuccess(reply),
    onError: ({ status }) => {
      if (status === 412) onChanged?.();
    },
  });
  const { mutateAsync } = mutation;
  const mutate = useCallback<PageMutation<R, I>['mutate']>(
    (input, then) => {
      const page = location.pathname;
      mutateAsync(input).then(
        (reply) => {
          if (location.pathname === page) then?.(reply);
        },
        // The component shows `error`.
        () => {},
      );
    },
    [mutateAsync],
  );
  return { ...mutation, mutate };
}
