//! Quinn, QUIC in Rust, as a peer: one bidirectional stream. Its command line, blocks and reports are those
//! of `../peer.h`. The argument after the port is the file in which the server leaves its certificate.
//!
//! ```text
//! quinn-peer serve ADDRESS PORT CERTIFICATE
//! quinn-peer send ADDRESS PORT CERTIFICATE SECONDS
//! quinn-peer ping ADDRESS PORT CERTIFICATE COUNT
//! ```
//!
//! Quinn has its defaults: CUBIC, GSO and GRO, path MTU discovery. Exceptions are windows that this path does
//! not fill, one thread per endpoint, and DCUDP's socket buffers. Packets are always encrypted.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::{
    ClientConfig, Endpoint, EndpointConfig, RecvStream, SendStream, ServerConfig, TokioRuntime,
    TransportConfig, VarInt,
};
use rustix::net::sockopt;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const BLOCK: usize = 1 << 16;
const PING: usize = 64;
const PING_TIME: Duration = Duration::from_secs(4);
const SOCKET_BUFFER: usize = 32 << 20;
const WINDOW: u32 = 32 << 20;
const NAME: &str = "peer";
const DATA: u8 = b's';
const ECHO: u8 = b'p';
const MORE: u8 = 1;
const LAST: u8 = 0;
const USAGE: &str = "quinn-peer serve|send|ping ADDRESS PORT CERTIFICATE [SECONDS|COUNT]";

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [how, host, port, certificate, rest @ ..] = &arguments[..] else {
        return Err(USAGE.into());
    };
    let address = SocketAddr::new(host.parse()?, port.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match (*how, rest) {
            ("serve", []) => serve(address, certificate).await,
            ("send", [seconds]) => {
                let seconds = Duration::from_secs_f64(seconds.parse()?);
                call(address, certificate, Wanted::Data(seconds)).await
            }
            ("ping", [count]) => call(address, certificate, Wanted::Pings(count.parse()?)).await,
            _ => Err(USAGE.into()),
        }
    })
}

fn socket(address: SocketAddr) -> Outcome<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
    // Root may have more than net.core.rmem_max.
    if sockopt::set_socket_recv_buffer_size_force(&socket, SOCKET_BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
    }
    Ok(socket)
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW));
    Arc::new(config)
}

async fn serve(address: SocketAddr, certificate: &str) -> Outcome {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    config.transport_config(transport());
    let (own, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    let endpoint = Endpoint::new(own, Some(config), socket(address)?, runtime)?;
    std::fs::write(certificate, made.cert.der())?;
    println!("ready");
    let incoming = endpoint.accept().await.ok_or("closed")?;
    let connection = incoming.await?;
    let (mut writer, mut reader) = connection.accept_bi().await?;
    let mut wanted = [0];
    reader.read_exact(&mut wanted).await?;
    if wanted == [ECHO] {
        echo(&mut reader, &mut writer).await?;
    } else {
        swallow(&mut reader, &mut writer).await?;
    }
    connection.closed().await;
    Ok(())
}

async fn swallow(reader: &mut RecvStream, writer: &mut SendStream) -> Outcome {
    let mut buffer = vec![0; BLOCK];
    reader.read_exact(&mut buffer[..1]).await?;
    let begun = Instant::now();
    let (mut kind, mut position, mut bytes) = (buffer[0], 1, 1);
    while kind != LAST || position < BLOCK {
        let room = BLOCK - position % BLOCK;
        let count = reader.read(&mut buffer[..room]).await?;
        let count = count.ok_or("the connection ended early")?;
        if position % BLOCK == 0 {
            (kind, position) = (buffer[0], 0);
        }
        position += count;
        bytes += count;
    }
    let seconds = begun.elapsed().as_secs_f64();
    writer.write_all(b"!").await?;
    println!("{{\"bytes\": {bytes}, \"seconds\": {seconds:.6}}}");
    Ok(())
}

async fn echo(reader: &mut RecvStream, writer: &mut SendStream) -> Outcome {
    let mut word = [0; PING];
    loop {
        reader.read_exact(&mut word[..1]).await?;
        if word[0] == LAST {
            return Ok(());
        }
        reader.read_exact(&mut word[1..]).await?;
        writer.write_all(&word).await?;
    }
}

enum Wanted {
    Data(Duration),
    Pings(usize),
}

async fn call(address: SocketAddr, certificate: &str, wanted: Wanted) -> Outcome {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let local = SocketAddr::from(([0, 0, 0, 0], 0));
    let (own, runtime) = (EndpointConfig::default(), Arc::new(TokioRuntime));
    let endpoint = Endpoint::new(own, None, socket(local)?, runtime)?;
    let connection = endpoint.connect_with(config, address, NAME)?.await?;
    let (mut writer, mut reader) = connection.open_bi().await?;
    match wanted {
        Wanted::Data(long) => send(&mut writer, &mut reader, long).await?,
        Wanted::Pings(count) => ping(&mut writer, &mut reader, count).await?,
    }
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}

async fn send(writer: &mut SendStream, reader: &mut RecvStream, long: Duration) -> Outcome {
    let mut block = vec![7; BLOCK];
    writer.write_all(&[DATA]).await?;
    block[0] = MORE;
    let begun = Instant::now();
    while begun.elapsed() < long {
        writer.write_all(&block).await?;
    }
    block[0] = LAST;
    writer.write_all(&block).await?;
    reader.read_exact(&mut block[..1]).await?;
    Ok(())
}

async fn ping(writer: &mut SendStream, reader: &mut RecvStream, count: usize) -> Outcome {
    let mut micros = Vec::with_capacity(count);
    let mut word = [MORE; PING];
    writer.write_all(&[ECHO]).await?;
    let first = Instant::now();
    while micros.len() < count && first.elapsed() < PING_TIME {
        let begun = Instant::now();
        writer.write_all(&word).await?;
        reader.read_exact(&mut word).await?;
        micros.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    writer.write_all(&[LAST]).await?;
    micros.sort_by(f64::total_cmp);
    let count = micros.len();
    let (p50, p99) = (quantile(&micros, 50), quantile(&micros, 99));
    println!("{{\"count\": {count}, \"p50_us\": {p50:.2}, \"p99_us\": {p99:.2}}}");
    Ok(())
}

/// The nearest rank, as `dcudp ping` has it.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank.max(1) - 1]
}
