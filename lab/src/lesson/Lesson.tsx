// The lesson above the experiments: one step at a time, with next and back. The buttons keep their places, so that the
// keyboard's focus stays, and a screen reader reads each step as it comes.
import { batch } from "@preact/signals";
import { Exercises, exercisesOpen } from "./Exercises";
import { closeLesson, onStep, openStep, step } from "./lesson";
import { STEPS } from "./steps";
import type { Step } from "./steps";

const MINUTES = STEPS.reduce((sum, { minutes }) => sum + minutes, 0);

export function Lesson() {
  const index = step.value;
  const now = index === undefined ? undefined : STEPS[index];
  return (
    <section class="lesson" aria-label="Lesson">
      {index === undefined || !now ? (
        <>
          <button
            type="button"
            class="small"
            onClick={() => {
              openStep(0);
            }}
          >
            Lesson in {MINUTES} minutes
          </button>
          <Exercises />
        </>
      ) : (
        <>
          <Buttons index={index} />
          <div aria-live="polite">
            <p class="faint">
              Step {index + 1} of {STEPS.length}, {now.minutes} minutes
              {!onStep.value && ". Another experiment is open: “Restore” leads back"}
            </p>
            {onStep.value && <Words key={index} now={now} />}
          </div>
        </>
      )}
    </section>
  );
}

function toExercises(): void {
  batch(() => {
    closeLesson();
    exercisesOpen.value = true;
  });
}

function Buttons({ index }: { index: number }) {
  const last = index === STEPS.length - 1;
  return (
    <div class="lesson-buttons">
      <button
        type="button"
        aria-disabled={index === 0}
        onClick={() => {
          openStep(index - 1);
        }}
      >
        Back
      </button>
      <button
        type="button"
        onClick={() => {
          if (last) toExercises();
          else openStep(index + 1);
        }}
      >
        {last ? "Exercises" : "Next"}
      </button>
      <span class="space" />
      <button
        type="button"
        title="Opens this step as it was at its beginning"
        onClick={() => {
          openStep(index);
        }}
      >
        Restore
      </button>
      <button type="button" onClick={closeLesson} aria-label="Close the lesson">
        Close
      </button>
    </div>
  );
}

function Words({ now }: { now: Step }) {
  return (
    <>
      <h2>{now.title}</h2>
      <p>{now.look.join(" ")}</p>
      <p>
        <strong>{now.question}</strong>
      </p>
      <details>
        <summary>Answer</summary>
        <p>{now.answer.join(" ")}</p>
        <p>{now.why.join(" ")}</p>
      </details>
    </>
  );
}
