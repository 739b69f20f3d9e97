/* Replays events of a connection through dctcp.h on the host, for tests/it.rs: one event per line of the input, one state
 * per line of the output (alpha, cwnd in segments, ssthresh). */
#include <stdint.h>
#include <stdio.h>

typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

#include "dctcp.h"

int main(void)
{
	struct dctcp d = {0};
	char event;
	unsigned a, b, c, e;

	while (scanf(" %c %u %u %u %u", &event, &a, &b, &c, &e) == 5) {
		switch (event) {
		case 'b': /* snd_una, snd_nxt, cwnd */
			dctcp_begin(&d, a, b, c, UNSET_SSTHRESH);
			break;
		case 'a': /* snd_una, snd_nxt, ECE: no growth */
			dctcp_estimate(&d, a, b, c);
			break;
		case 'g': /* mss, after a timeout: growth by the ACK before */
			dctcp_grow(&d, a, b);
			break;
		case 'm': /* snd_nxt, mss */
			dctcp_on_mark(&d, a, b);
			break;
		case 'l': /* snd_nxt, mss */
			dctcp_on_loss(&d, a, b, 0);
			break;
		case 't': /* snd_nxt, mss: the kernel's loss window is a segment */
			dctcp_on_loss(&d, a, b, 1);
			dctcp_take(&d, 1, d.ssthresh);
			break;
		}
		printf("%.12f %.9f %u\n", (double)d.alpha / ALPHA_ONE, (double)d.cwnd / SEGMENT, d.ssthresh);
	}
	return 0;
}
