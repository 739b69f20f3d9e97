// The exercises in the page, below the button of the lesson, whose end opens them.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { openExperiment } from "../link/keeping";
import { EXERCISES, INTRODUCTION, piecesOf } from "./exercises";
import type { Block, Exercise } from "./exercises";

export const exercisesOpen = signal(false);

export function Exercises() {
  const summary = useRef<HTMLElement>(null);
  // The button that led here is gone, and with it the place of the keyboard.
  useEffect(() => {
    if (exercisesOpen.peek()) summary.current?.focus();
  }, []);
  return (
    <details
      class="exercises"
      open={exercisesOpen.value}
      onToggle={(event) => (exercisesOpen.value = event.currentTarget.open)}
    >
      <summary ref={summary}>Exercises</summary>
      <Blocks blocks={INTRODUCTION} />
      {EXERCISES.map((one, index) => (
        <OneExercise key={one.title} number={index + 1} {...one} />
      ))}
    </details>
  );
}

function OneExercise({ number, title, experiment, blocks }: Exercise & { number: number }) {
  return (
    <details>
      <summary>
        {number}. {title}
      </summary>
      {experiment && (
        <button
          type="button"
          class="small"
          onClick={() => {
            openExperiment(experiment);
          }}
        >
          Open “{experiment.title}”
        </button>
      )}
      <Blocks blocks={blocks} />
    </details>
  );
}

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, i) =>
        typeof block === "string" ? (
          <p key={i}>
            <Words words={block} />
          </p>
        ) : (
          <ol key={i}>
            {block.map((item) => (
              <li key={item}>
                <Words words={item} />
              </li>
            ))}
          </ol>
        ),
      )}
    </>
  );
}

function Words({ words }: { words: string }) {
  return (
    <>
      {piecesOf(words).map(({ tag: Tag, text }, i) => (
        <Tag key={i}>{text}</Tag>
      ))}
    </>
  );
}
