/* DCTCP for the kernel's TCP: RFC 8257, by the rules of dctcp.h. The kernel detects losses, and limits reactions to marks
 * to one per window of data (its state CWR).
 *
 * Leaves out: pacing. The rate that it sets only sizes bursts. */
#include "kernel.h"
#include "dctcp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline void show(struct tcp_sock *tp, struct dctcp *d)
{
	tp->snd_cwnd = lesser(greater(d->cwnd >> SEGMENT_SHIFT, 1), tp->snd_cwnd_clamp);
	tp->snd_ssthresh = d->ssthresh;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;
	struct dctcp *d = STATE(sk);
	static const char fallback[] = "reno";

	/* RFC 8257, section 3.1: without ECN there is nothing to react to, and no packet may have ECT. */
	if (!(tp->ecn_flags & TCP_ECN_OK)) {
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, (void *)fallback, sizeof(fallback));
		return;
	}
	dctcp_begin(d, tp->snd_una, tp->snd_nxt, tp->snd_cwnd, tp->snd_ssthresh);
	d->ce = 0;
	d->prior_rcv_nxt = tp->rcv_nxt;
}

/* The kernel asks before it reports its new state: the threshold is set there. */
SEC("struct_ops")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;

	return ca_state(sk) == TCP_CA_Loss ? greater(tp->packets_out / 2, FLOOR) : tp->snd_ssthresh;
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = (void *)sk;
	struct dctcp *d = STATE(sk);

	if (d->recovery == 2)
		d->recovery = 0;
	dctcp_estimate(d, tp->snd_una, tp->snd_nxt, flags & CA_ACK_ECE);
}

SEC("struct_ops")
void BPF_PROG(dctcp_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (void *)sk;
	struct dctcp *d = STATE(sk);
	u32 mss = tp->mss_cache, before = ca_state(sk);

	if (!mss)
		return;
	dctcp_take(d, tp->snd_cwnd, tp->snd_ssthresh);
	if (new_state == TCP_CA_CWR && before < TCP_CA_CWR) {
		dctcp_on_mark(d, tp->snd_nxt, mss);
		show(tp, d);
	} else if (new_state == TCP_CA_Recovery && before < TCP_CA_Recovery) {
		dctcp_on_loss(d, tp->snd_nxt, mss, 0);
		show(tp, d);
	} else if (new_state == TCP_CA_Loss && before != TCP_CA_Loss) {
		/* The kernel has set the loss window. */
		tp->snd_ssthresh = dctcp_on_loss(d, tp->snd_nxt, mss, 1);
	}
	if (new_state == TCP_CA_Recovery)
		d->recovery = 1;
	else if (d->recovery == 1)
		d->recovery = new_state == TCP_CA_Loss ? 0 : 2;
}

SEC("struct_ops")
void BPF_PROG(dctcp_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (void *)sk;
	struct dctcp *d = STATE(sk);
	u32 mss = tp->mss_cache, srtt_us = tp->srtt_us >> 3;

	if (!mss)
		return;
	dctcp_take(d, tp->snd_cwnd, tp->snd_ssthresh);
	if (!d->echoed && !d->recovery && window_limited(tp)) {
		dctcp_grow(d, mss, ca_state(sk) == TCP_CA_Loss);
		show(tp, d);
	}
	/* The kernel sizes its bursts by this rate: twice a window per round trip. */
	if (srtt_us)
		sk->sk_pacing_rate = (u64)tp->snd_cwnd * mss * 2000000ull / srtt_us;
}

SEC("struct_ops")
void BPF_PROG(dctcp_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (void *)sk;
	struct dctcp *d = STATE(sk);

	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		echo(tp, &d->ce, &d->prior_rcv_nxt, event == CA_EVENT_ECN_IS_CE);
}

/* A needless reaction (RFC 5682, 2883): the window is at least that before it. */
SEC("struct_ops")
u32 BPF_PROG(dctcp_undo, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;

	return greater(tp->snd_cwnd, tp->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops incastle_dctcp = {
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "incastle_dctcp",
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.in_ack_event = (void *)dctcp_in_ack,
	.set_state = (void *)dctcp_state,
	.cong_control = (void *)dctcp_control,
	.cwnd_event = (void *)dctcp_event,
	.undo_cwnd = (void *)dctcp_undo,
};
