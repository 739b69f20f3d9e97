/* The kernel's types that our programs use, as far as they use them: CO-RE finds each member by its name in the BTF of
 * the running kernel. Values are those of include/net/tcp.h of Linux 6.10 to 6.18. */
#ifndef INCASTLE_KERNEL_H
#define INCASTLE_KERNEL_H

typedef _Bool bool;
typedef unsigned char __u8;
typedef unsigned short __u16, __be16, __sum16;
typedef unsigned int __u32, __be32, __wsum;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	u16 skc_family;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una, snd_nxt, rcv_nxt;
	u32 snd_cwnd, snd_cwnd_clamp, snd_ssthresh, prior_cwnd;
	u32 packets_out, max_packets_out, mss_cache, srtt_us, lost, delivered, delivered_ce;
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
};

struct rate_sample {
	long rtt_us;
};

#pragma clang attribute pop

/* The operations that we fill in; libbpf finds each by its name too. */
struct tcp_congestion_ops {
	u32 flags;
	char name[16];
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	u32 (*undo_cwnd)(struct sock *sk);
};

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_RINGBUF = 27 };
enum { TCP_CONG_NEEDS_ECN = 2 };
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum { TCP_ECN_OK = 1, TCP_ECN_DEMAND_CWR = 4 };
enum { ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum tcp_ca_event { CA_EVENT_ECN_NO_CE = 4, CA_EVENT_ECN_IS_CE = 5 };
enum tcp_ca_ack_event_flags { CA_ACK_ECE = 4 };
enum { SOL_TCP = 6, TCP_CONGESTION = 13, SK_PACING_NONE = 0, SK_PACING_NEEDED = 1, AF_INET = 2 };

/* Our state of a connection. */
#define STATE(sk) ((void *)((struct inet_connection_sock *)(sk))->icsk_ca_priv)

static __always_inline u8 ca_state(struct sock *sk)
{
	struct inet_connection_sock *icsk = (void *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

/* Whether the window, not the application, limits the sender: in slow start also where it uses more than half. */
static __always_inline bool window_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The receiver's echo, RFC 8257, section 3.2: when CE changes, packets that wait for a delayed ACK are acknowledged at
 * once, with the echo of the packets before the change; the packet that changes it too, with the new echo. `ce` is
 * DCTCP.CE; `prior_rcv_nxt` is RCV.NXT before this packet: the kernel has already moved it. */
static __always_inline void echo(struct tcp_sock *tp, u32 *ce, u32 *prior_rcv_nxt, bool is_ce)
{
	struct inet_connection_sock *icsk = (void *)tp;

	if (*ce != is_ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (*ce)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, *prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
		*ce = is_ce;
	}
	*prior_rcv_nxt = tp->rcv_nxt;
	if (is_ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
