/* The bridge: a congestion control whose decisions a process makes. It reports each ACK and each loss through a ring
 * buffer, and applies the window and the pacing rate of the latest answer at the connection's next ACK.
 *
 * Without answers for `patience_ns` it keeps its window no longer, but is NewReno (RFC 5681) until the next answer: the
 * process may have ended, and connections keep their control.
 *
 * Leaves out: reports of departures. The process derives them from SND.NXT. */
#include "kernel.h"
#include "bridge.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* How long a connection waits for an answer. */
const volatile u64 patience_ns = 200000000;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, u64);
	__type(value, struct answer);
} answers SEC(".maps");

/* The number of the last connection. */
u64 connections = 0;
/* Reports for which the ring buffer had no room. */
u64 dropped = 0;

struct bridge {
	u64 connection;
	u64 number, answered, applied_after_ns, heard_ns;
	u64 una;                 /* SND.UNA from the start of the stream */
	u32 snd_una;
	u32 delivered, delivered_ce;
	u32 counted;             /* NewReno's acknowledged packets */
	u32 echoed, fallen_back;
	u32 ce, prior_rcv_nxt;
};

static __always_inline u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

static __always_inline void send(struct sock *sk, struct bridge *b, u32 kind, u32 flags, u32 acked, u32 rtt_us)
{
	struct tcp_sock *tp = (void *)sk;
	struct report *r = bpf_ringbuf_reserve(&reports, sizeof(*r), 0);
	u32 delivered = tp->delivered;

	if (!r) {
		__sync_fetch_and_add(&dropped, 1);
		return;
	}
	__builtin_memset(r, 0, sizeof(*r));
	b->number++;
	r->connection = b->connection;
	r->number = b->number;
	r->at_ns = bpf_ktime_get_ns();
	r->snd_una = b->una;
	r->snd_nxt = b->una + (tp->snd_nxt - b->snd_una);
	r->delivered_ce = tp->delivered_ce;
	r->lost = tp->lost;
	r->answered = b->answered;
	r->applied_after_ns = b->applied_after_ns;
	r->kind = kind;
	r->flags = flags;
	r->acked = acked;
	r->segments = delivered - b->delivered;
	r->rtt_us = rtt_us;
	r->srtt_us = tp->srtt_us >> 3;
	r->mss = tp->mss_cache;
	r->cwnd = tp->snd_cwnd;
	if (sk->__sk_common.skc_family == AF_INET) {
		r->local = sk->__sk_common.skc_rcv_saddr;
		r->remote = sk->__sk_common.skc_daddr;
	}
	r->local_port = sk->__sk_common.skc_num;
	r->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	bpf_ringbuf_submit(r, 0);
	b->delivered = delivered;
}

static __always_inline void begin(struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;
	struct bridge *b = STATE(sk);

	b->connection = __sync_fetch_and_add(&connections, 1) + 1;
	b->number = b->answered = b->applied_after_ns = b->una = 0;
	b->heard_ns = bpf_ktime_get_ns();
	b->snd_una = tp->snd_una;
	b->delivered = tp->delivered;
	b->delivered_ce = tp->delivered_ce;
	b->counted = b->echoed = b->fallen_back = b->ce = 0;
	b->prior_rcv_nxt = tp->rcv_nxt;
	send(sk, b, BEGIN, 0, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(bridge_init, struct sock *sk)
{
	begin(sk);
}

SEC("struct_ops")
void BPF_PROG(bridge_ecn_init, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;
	static const char fallback[] = "reno";

	/* Without ECN no packet may have ECT (RFC 3168, section 6.1.1). */
	if (!(tp->ecn_flags & TCP_ECN_OK)) {
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, (void *)fallback, sizeof(fallback));
		return;
	}
	begin(sk);
}

SEC("struct_ops")
void BPF_PROG(bridge_release, struct sock *sk)
{
	struct bridge *b = STATE(sk);
	u64 connection = b->connection;

	if (!connection)
		return;
	send(sk, b, END, 0, 0, 0);
	bpf_map_delete_elem(&answers, &connection);
}

SEC("struct_ops")
u32 BPF_PROG(bridge_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;
	struct bridge *b = STATE(sk);

	if (!b->fallen_back)
		return tp->snd_ssthresh;
	return larger(tp->snd_cwnd / 2, 2);
}

SEC("struct_ops")
void BPF_PROG(bridge_in_ack, struct sock *sk, u32 flags)
{
	struct bridge *b = STATE(sk);

	b->echoed = !!(flags & CA_ACK_ECE);
}

SEC("struct_ops")
void BPF_PROG(bridge_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (void *)sk;
	struct bridge *b = STATE(sk);
	u32 before = ca_state(sk);

	if (new_state == TCP_CA_Recovery && before < TCP_CA_Recovery)
		send(sk, b, LOSS, 0, 0, 0);
	else if (new_state == TCP_CA_Loss)
		send(sk, b, TIMEOUT, 0, 0, 0);
	else if (new_state != TCP_CA_CWR || before >= TCP_CA_CWR)
		return;
	/* NewReno reacts itself: ssthresh has the half. */
	if (b->fallen_back && new_state != TCP_CA_Loss)
		tp->snd_cwnd = larger(tp->snd_ssthresh, 2);
}

/* RFC 5681, equations 2 and 3, in packets. */
static __always_inline void reno(struct sock *sk, struct bridge *b, u32 delivered)
{
	struct tcp_sock *tp = (void *)sk;
	u32 cwnd = tp->snd_cwnd;

	if (ca_state(sk) == TCP_CA_Recovery || b->echoed || !window_limited(tp))
		return;
	if (cwnd < tp->snd_ssthresh) {
		cwnd += delivered;
	} else {
		b->counted += delivered;
		if (b->counted >= cwnd) {
			b->counted -= cwnd;
			cwnd++;
		}
	}
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
}

static __always_inline void apply(struct sock *sk, struct bridge *b, u64 now)
{
	struct tcp_sock *tp = (void *)sk;
	u64 connection = b->connection;
	struct answer *a = bpf_map_lookup_elem(&answers, &connection);
	u32 cwnd;

	if (a && a->number > b->answered) {
		b->answered = a->number;
		b->applied_after_ns = now - a->report_ns;
		b->heard_ns = now;
		b->fallen_back = 0;
		cwnd = a->cwnd;
		tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? larger(cwnd, 1) : tp->snd_cwnd_clamp;
		tp->snd_ssthresh = a->ssthresh;
		sk->sk_pacing_status = a->pacing ? SK_PACING_NEEDED : SK_PACING_NONE;
		sk->sk_pacing_rate = a->pacing ? a->pacing : ~0ul;
	} else if (b->number == b->answered) {
		b->heard_ns = now;
	} else if (!b->fallen_back && now - b->heard_ns > patience_ns) {
		b->fallen_back = 1;
		b->counted = 0;
		tp->snd_ssthresh = larger(tp->snd_cwnd, 2);
		sk->sk_pacing_status = SK_PACING_NONE;
		sk->sk_pacing_rate = ~0ul;
	}
}

SEC("struct_ops")
void BPF_PROG(bridge_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (void *)sk;
	struct bridge *b = STATE(sk);
	u64 now = bpf_ktime_get_ns();
	u32 snd_una = tp->snd_una, acked = snd_una - b->snd_una, delivered = tp->delivered;
	u8 state = ca_state(sk);
	u32 flags = 0;
	long rtt_us = rs->rtt_us;

	if (!b->connection)
		return;
	b->una += acked;
	b->snd_una = snd_una;
	apply(sk, b, now);
	if (b->fallen_back)
		reno(sk, b, delivered - b->delivered);
	if (b->echoed)
		flags |= ECHO;
	if (window_limited(tp))
		flags |= WINDOW_LIMITED;
	if (state == TCP_CA_Recovery)
		flags |= IN_RECOVERY;
	if (state == TCP_CA_Loss)
		flags |= AFTER_TIMEOUT;
	if (b->fallen_back)
		flags |= FALLEN_BACK;
	send(sk, b, ACK, flags, acked, rtt_us > 0 ? rtt_us : 0);
}

SEC("struct_ops")
void BPF_PROG(bridge_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = (void *)sk;
	struct bridge *b = STATE(sk);

	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		echo(tp, &b->ce, &b->prior_rcv_nxt, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
u32 BPF_PROG(bridge_undo, struct sock *sk)
{
	struct tcp_sock *tp = (void *)sk;

	return larger(tp->snd_cwnd, tp->prior_cwnd);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops incastle_bridge = {
	.name = "incastle_bridge",
	.init = (void *)bridge_init,
	.release = (void *)bridge_release,
	.ssthresh = (void *)bridge_ssthresh,
	.in_ack_event = (void *)bridge_in_ack,
	.set_state = (void *)bridge_state,
	.cong_control = (void *)bridge_control,
	.undo_cwnd = (void *)bridge_undo,
};

/* The same with DCTCP's echo at the receiver, and ECN whatever the host's setting. */
SEC(".struct_ops.link")
struct tcp_congestion_ops incastle_b_ecn = {
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "incastle_b_ecn",
	.init = (void *)bridge_ecn_init,
	.release = (void *)bridge_release,
	.ssthresh = (void *)bridge_ssthresh,
	.in_ack_event = (void *)bridge_in_ack,
	.set_state = (void *)bridge_state,
	.cong_control = (void *)bridge_control,
	.cwnd_event = (void *)bridge_event,
	.undo_cwnd = (void *)bridge_undo,
};
