/* DCTCP's sender (RFC 8257) in fixed point, for eBPF and for a test on the host: the same rules as crates/congestion's
 * `dctcp`, `reno_window` and `marked_fraction`. Windows count segments, with a fraction: a cut by a small alpha is less
 * than a segment, and must not be lost.
 *
 * Leaves out: slow start's limit of RFC 3465 for each ACK, since the kernel's receivers acknowledge many segments at
 * once; restarts after idleness, which the kernel does. */
#ifndef INCASTLE_DCTCP_H
#define INCASTLE_DCTCP_H

/* alpha of 1. */
#define ALPHA_ONE (1ull << 30)
/* The weight of one window's marked fraction, g = 1/16 (RFC 8257, section 4.2), as a shift. */
#define G_SHIFT 4
/* A window of one segment. */
#define SEGMENT_SHIFT 20
#define SEGMENT (1ull << SEGMENT_SHIFT)
/* The longest window in segments: products with it stay below 2^64. */
#define MAX_SEGMENTS (1u << 20)
/* No window has a smaller threshold. */
#define UNSET_SSTHRESH 0x7FFFFFFFu
/* The floor after a mark or a loss, in segments (RFC 5681, equation 4). */
#define FLOOR 2

struct dctcp {
	u64 cwnd;             /* in 1/SEGMENT */
	u64 counted;          /* growth that is not yet a unit, times cwnd */
	u64 acked, marked;    /* bytes of this observation window */
	u32 alpha;            /* of ALPHA_ONE */
	u32 window_end;       /* the observation window ends when an ACK passes this */
	u32 snd_una;          /* at the last ACK */
	u32 ssthresh;         /* segments */
	u32 cut_end, uncut;   /* SND.NXT at the last cut, and the flight before it, in segments; 0: none */
	u32 cut_on_mark;      /* whether that cut was for a mark */
	u32 just_acked;       /* bytes */
	u32 echoed;           /* whether the last ACK had ECE */
	u32 recovery;         /* 1: in fast recovery, 2: the ACK that ends it */
	u32 ce, prior_rcv_nxt; /* the receiver's */
};

/* Whether a sequence number is after another (RFC 9293, section 3.4). */
static inline int is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

static inline u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 greater(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* RFC 8257, section 3.3: alpha is 1 at first. */
static inline void dctcp_begin(struct dctcp *d, u32 snd_una, u32 snd_nxt, u32 cwnd, u32 ssthresh)
{
	d->cwnd = cwnd * SEGMENT;
	d->counted = d->acked = d->marked = 0;
	d->alpha = ALPHA_ONE;
	d->window_end = snd_nxt;
	d->snd_una = snd_una;
	d->ssthresh = ssthresh;
	d->cut_end = d->uncut = d->cut_on_mark = d->just_acked = d->echoed = d->recovery = 0;
}

/* RFC 8257, section 3.3, steps 1 to 8: alpha <- (1 - g) alpha + g F, once per window of data. */
static inline void dctcp_estimate(struct dctcp *d, u32 snd_una, u32 snd_nxt, int echoed)
{
	u64 fraction;

	d->just_acked = is_after(snd_una, d->snd_una) ? snd_una - d->snd_una : 0;
	d->snd_una = snd_una;
	d->echoed = echoed;
	d->acked += d->just_acked;
	if (echoed)
		d->marked += d->just_acked;
	if (!is_after(snd_una, d->window_end))
		return;
	if (d->acked) {
		fraction = d->marked * ALPHA_ONE / d->acked;
		d->alpha = d->alpha - (d->alpha >> G_SHIFT) + (fraction >> G_SHIFT);
	}
	d->window_end = snd_nxt;
	d->acked = d->marked = 0;
}

/* The kernel has set another window, after a timeout or a needless recovery: the fraction is lost. */
static inline void dctcp_take(struct dctcp *d, u32 cwnd, u32 ssthresh)
{
	d->ssthresh = ssthresh;
	if (d->cwnd >> SEGMENT_SHIFT == cwnd)
		return;
	d->cwnd = cwnd * SEGMENT;
	d->counted = 0;
}

/* Growth by an ACK without ECE, in no recovery, of a sender that uses its window. */
static inline void dctcp_grow(struct dctcp *d, u32 mss, int after_timeout)
{
	u64 credit, growth, acked = lesser(((u64)d->just_acked << SEGMENT_SHIFT) / mss, d->cwnd);

	if (d->cwnd < d->ssthresh * SEGMENT) {
		/* RFC 5681, equation 2, with the bytes acknowledged. An ACK after a timeout may cover data that
		 * arrived long before: RFC 3465, section 2.3. */
		d->cwnd += after_timeout ? lesser(acked, SEGMENT) : acked;
	} else {
		/* RFC 5681, equation 3: a segment per window, by acknowledged bytes; the remainder stays. */
		credit = d->counted + (acked << SEGMENT_SHIFT);
		growth = credit / d->cwnd;
		d->counted = credit - growth * d->cwnd;
		d->cwnd += growth;
	}
	d->cwnd = lesser(d->cwnd, MAX_SEGMENTS * SEGMENT);
}

/* cwnd <- cwnd (1 - alpha / 2) (RFC 8257, section 3.3, step 9), once per window of data: the caller's part. */
static inline void dctcp_on_mark(struct dctcp *d, u32 snd_nxt, u32 mss)
{
	u64 flight = (u64)(snd_nxt - d->snd_una) + d->just_acked;
	/* 2^40 segments' units and 2^30 of alpha: the product is made in two parts. */
	u64 high = (d->cwnd >> SEGMENT_SHIFT) * d->alpha;
	u64 low = (d->cwnd & (SEGMENT - 1)) * d->alpha >> SEGMENT_SHIFT;
	u64 cwnd = d->cwnd - ((high + low) >> (30 + 1 - SEGMENT_SHIFT));

	d->uncut = lesser(flight / mss, d->cwnd >> SEGMENT_SHIFT);
	d->cut_end = snd_nxt;
	d->cut_on_mark = 1;
	d->ssthresh = greater(cwnd >> SEGMENT_SHIFT, FLOOR);
	/* A window that is below the floor since a timeout is not raised. */
	d->cwnd = greater(cwnd, lesser(d->cwnd, FLOOR * SEGMENT));
	d->counted = 0;
}

/* Half the flight, as in conventional TCP (RFC 8257, section 3.5; RFC 5681, equation 4); alpha stays. If the window of
 * data was already cut on a mark, the loss is measured against the flight before: both are one reaction. At a timeout no
 * more counts than was in flight at the last cut: new data may have left behind a lost segment for a whole timeout. */
static inline u32 dctcp_on_loss(struct dctcp *d, u32 snd_nxt, u32 mss, int is_timeout)
{
	u64 flight = (u64)(snd_nxt - d->snd_una) / mss;

	if (d->uncut && is_after(d->cut_end, d->snd_una)) {
		if (is_timeout)
			flight = lesser(flight, d->uncut);
		else if (d->cut_on_mark)
			flight = d->uncut;
	}
	d->uncut = flight;
	d->cut_end = snd_nxt;
	d->cut_on_mark = 0;
	d->counted = 0;
	d->ssthresh = greater(flight / 2, FLOOR);
	d->cwnd = lesser(d->cwnd, d->ssthresh * SEGMENT);
	return d->ssthresh;
}

#endif
